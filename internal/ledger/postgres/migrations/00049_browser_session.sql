-- +goose Up
-- Sessions of the console in browsers. once = 1: a token that makes a session, once.
CREATE TABLE browser_session (
  hash         text   COLLATE "C" PRIMARY KEY, -- SHA-256 of the secret in the cookie, in hex
  operator_key text   NOT NULL,                -- the id of the key that signed in; '': a user of this machine
  who          text   NOT NULL,
  once         bigint NOT NULL,
  created_at   bigint NOT NULL,
  seen_at      bigint NOT NULL
);
