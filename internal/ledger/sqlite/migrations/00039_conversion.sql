-- +goose Up
CREATE TABLE conversion (                 -- the deliveries to the people who placed orders
  order_id    TEXT    NOT NULL,
  rid         INTEGER NOT NULL,
  accepted_at INTEGER NOT NULL,           -- 0: its message cannot have brought the order
  held_out    INTEGER NOT NULL,           -- 1: it was held out
  PRIMARY KEY (order_id, rid)
) WITHOUT ROWID;
CREATE INDEX conversion_rid ON conversion (rid);
