-- +goose Up
-- The last audit of each run that somebody asked for in the console.
CREATE TABLE audit (
  run      INTEGER NOT NULL PRIMARY KEY,
  began_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL, -- 0: it is under way, or its process has ended
  result   TEXT    NOT NULL  -- JSON; '': it failed
);
