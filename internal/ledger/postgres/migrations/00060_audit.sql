-- +goose Up
-- The last audit of each run that somebody asked for in the console.
CREATE TABLE audit (
  run      bigint PRIMARY KEY,
  began_at bigint NOT NULL,
  ended_at bigint NOT NULL, -- 0: it is under way, or its process has ended
  result   text   NOT NULL  -- JSON; '': it failed
);
