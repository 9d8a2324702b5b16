-- +goose Up
CREATE TABLE purchase (                   -- orders of the commerce platform (docs/commerce.md#attribution)
  id         TEXT    PRIMARY KEY,
  key        INTEGER NOT NULL,            -- of its phone number; 0: none; below 0: it was erased
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due        INTEGER NOT NULL,            -- 1: something is still to be paid
  ended      INTEGER NOT NULL,            -- 1: cancelled, refunded or deleted
  was_paid   INTEGER NOT NULL,            -- 1: nothing was due at some time
  amount     TEXT    NOT NULL,            -- a decimal number, as the platform wrote it
  currency   TEXT    NOT NULL
) WITHOUT ROWID;
CREATE INDEX purchase_key ON purchase (key) WHERE key <> 0;
CREATE INDEX purchase_updated ON purchase (updated_at);

CREATE TABLE order_hint (                 -- orders that events named, and that are to be asked for
  id       TEXT    PRIMARY KEY,
  at       INTEGER NOT NULL,              -- when the platform says that the order changed last
  received INTEGER NOT NULL,              -- when the first event came that waits
  events   INTEGER NOT NULL               -- how many wait; more came if it differs from what was read
) WITHOUT ROWID;
CREATE INDEX order_hint_received ON order_hint (received);

CREATE TABLE polled (                     -- one row: up to which change all orders were read
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  updated_at INTEGER NOT NULL
);
INSERT INTO polled (one, updated_at) VALUES (1, 0);
