-- +goose Up
CREATE TABLE operator_key (               -- keys of the operator's API
  id         TEXT    NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL,
  hash       TEXT    NOT NULL,            -- SHA-256 of the key, in hex
  scope      TEXT    NOT NULL,
  company    TEXT    NOT NULL,            -- '': every company
  created_at INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL             -- 0: in force
) WITHOUT ROWID;
CREATE TABLE action (                     -- what operators did
  id     TEXT    NOT NULL PRIMARY KEY,
  at     INTEGER NOT NULL,
  who    TEXT    NOT NULL,
  what   TEXT    NOT NULL,
  target TEXT    NOT NULL,
  detail TEXT    NOT NULL
) WITHOUT ROWID;
CREATE INDEX action_at ON action (at, id);
