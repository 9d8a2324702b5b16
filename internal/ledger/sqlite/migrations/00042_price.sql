-- +goose Up
-- The type and the category under which the platform bills a message, by the hash of its id.
CREATE TABLE price (
  mh   INTEGER PRIMARY KEY,
  kind TEXT    NOT NULL
);
