-- +goose Up
CREATE TABLE purchase (                   -- orders of the commerce platform (docs/commerce.md#attribution)
  key        bigint NOT NULL,             -- of its phone number; 0: none; below 0: it was erased
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due        bigint NOT NULL,             -- 1: something is still to be paid
  ended      bigint NOT NULL,             -- 1: cancelled, refunded or deleted
  was_paid   bigint NOT NULL,             -- 1: nothing was due at some time
  id         text   COLLATE "C" PRIMARY KEY,
  amount     text   NOT NULL,             -- a decimal number, as the platform wrote it
  currency   text   NOT NULL
);
CREATE INDEX purchase_key ON purchase (key) WHERE key <> 0;
CREATE INDEX purchase_updated ON purchase (updated_at);

CREATE TABLE order_hint (                 -- orders that events named, and that are to be asked for
  at       bigint NOT NULL,               -- when the platform says that the order changed last
  received bigint NOT NULL,               -- when the first event came that waits
  events   bigint NOT NULL,               -- how many wait; more came if it differs from what was read
  id       text   COLLATE "C" PRIMARY KEY
);
CREATE INDEX order_hint_received ON order_hint (received);

CREATE TABLE polled (                     -- one row: up to which change all orders were read
  one        integer PRIMARY KEY CHECK (one = 1),
  updated_at bigint  NOT NULL
);
INSERT INTO polled (one, updated_at) VALUES (1, 0);
