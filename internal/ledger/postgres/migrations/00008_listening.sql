-- +goose Up
CREATE TABLE listening (                  -- when webhooks were taken; docs/protocol.md#doubts
  since bigint PRIMARY KEY,
  until bigint NOT NULL
) WITH (fillfactor = 50);
