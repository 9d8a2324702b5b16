-- +goose Up
-- The last answers of listings of the Cloud API, which all processes use.
CREATE TABLE listing (
  name TEXT   NOT NULL PRIMARY KEY, -- host, version, account and question
  at   bigint NOT NULL, -- when the platform answered
  text TEXT   NOT NULL
);
