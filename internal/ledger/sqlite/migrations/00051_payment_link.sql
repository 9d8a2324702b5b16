-- +goose Up
CREATE TABLE payment_link (               -- links to pay orders (docs/commerce.md#payment-links)
  order_id TEXT    PRIMARY KEY,
  terms    TEXT    NOT NULL,              -- what the link was made for: amount, currency, addresses
  url      TEXT    NOT NULL,
  made_at  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX payment_link_made ON payment_link (made_at);
