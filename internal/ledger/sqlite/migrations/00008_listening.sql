-- +goose Up
CREATE TABLE listening (                  -- when webhooks were taken; docs/protocol.md#doubts
  since INTEGER PRIMARY KEY,
  until INTEGER NOT NULL
);
