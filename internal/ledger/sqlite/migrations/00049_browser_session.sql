-- +goose Up
-- Sessions of the console in browsers. once = 1: a token that makes a session, once.
CREATE TABLE browser_session (
  hash         TEXT    NOT NULL PRIMARY KEY, -- SHA-256 of the secret in the cookie, in hex
  operator_key TEXT    NOT NULL,             -- the id of the key that signed in; '': a user of this machine
  who          TEXT    NOT NULL,
  once         INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  seen_at      INTEGER NOT NULL
) WITHOUT ROWID;
