-- +goose Up
-- Campaigns that people prepare in the console.
CREATE TABLE draft (
  id         TEXT    NOT NULL PRIMARY KEY,
  owner      TEXT    NOT NULL,
  campaign   TEXT    NOT NULL,
  source     BLOB    NOT NULL, -- the campaign file
  list_name  TEXT    NOT NULL, -- '': no list has come
  run        TEXT    NOT NULL, -- '': it was not launched
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX draft_owner ON draft (owner, created_at);
