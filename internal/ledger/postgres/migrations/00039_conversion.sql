-- +goose Up
CREATE TABLE conversion (                 -- the deliveries to the people who placed orders
  rid         bigint NOT NULL,
  accepted_at bigint NOT NULL,            -- 0: its message cannot have brought the order
  held_out    bigint NOT NULL,            -- 1: it was held out
  order_id    text   COLLATE "C" NOT NULL,
  PRIMARY KEY (order_id, rid)
);
CREATE INDEX conversion_rid ON conversion (rid);
