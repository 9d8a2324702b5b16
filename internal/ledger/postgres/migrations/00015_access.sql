-- +goose Up
CREATE TABLE operator_key (               -- keys of the operator's API
  id         text   COLLATE "C" PRIMARY KEY,
  name       text   NOT NULL,
  hash       text   NOT NULL,             -- SHA-256 of the key, in hex
  scope      text   NOT NULL,
  company    text   NOT NULL,             -- '': every company
  created_at bigint NOT NULL,
  revoked_at bigint NOT NULL              -- 0: in force
);
CREATE TABLE action (                     -- what operators did
  id     text   COLLATE "C" PRIMARY KEY,
  at     bigint NOT NULL,
  who    text   NOT NULL,
  what   text   NOT NULL,
  target text   NOT NULL,
  detail text   NOT NULL
);
CREATE INDEX action_at ON action (at, id);
