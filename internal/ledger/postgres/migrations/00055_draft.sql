-- +goose Up
-- Campaigns that people prepare in the console.
CREATE TABLE draft (
  id         text   COLLATE "C" PRIMARY KEY,
  owner      text   COLLATE "C" NOT NULL,
  campaign   text   NOT NULL,
  source     bytea  NOT NULL, -- the campaign file
  list_name  text   NOT NULL, -- '': no list has come
  run        text   NOT NULL, -- '': it was not launched
  created_at bigint NOT NULL
);
CREATE INDEX draft_owner ON draft (owner, created_at);
