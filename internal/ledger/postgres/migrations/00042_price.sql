-- +goose Up
-- What the platform tells of the bill for a message, by the hash of its id: TYPE/CATEGORY.
CREATE TABLE price (
  mh   bigint PRIMARY KEY,
  kind text   NOT NULL
);
