-- +goose Up
CREATE TABLE payment_link (               -- links to pay orders (docs/commerce.md#payment-links)
  made_at  bigint NOT NULL,
  order_id text   COLLATE "C" PRIMARY KEY,
  terms    text   NOT NULL,               -- what the link was made for: amount, currency, addresses
  url      text   NOT NULL
);
CREATE INDEX payment_link_made ON payment_link (made_at);
