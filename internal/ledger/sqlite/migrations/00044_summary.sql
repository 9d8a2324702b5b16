-- +goose Up
CREATE TABLE summary (                    -- what the rows of a segment add up to, counted once
  segment    INTEGER PRIMARY KEY,
  token      INTEGER NOT NULL,            -- 0: counted; otherwise that of the process which counts it, or -1
  mark       INTEGER NOT NULL DEFAULT 0,  -- as it was when the rows were counted, as hi and connection
  hi         INTEGER NOT NULL DEFAULT 0,
  connection TEXT    NOT NULL DEFAULT '',
  counts     TEXT    NOT NULL DEFAULT '', -- JSON of []ledger.Group; '': never counted
  course     TEXT    NOT NULL DEFAULT ''  -- JSON of ledger.Course
);
-- Those that a process was counting when it ended, beside those that are being counted.
CREATE INDEX summary_counting ON summary (segment) WHERE token <> 0;
-- A segment whose outcomes may have changed since they were counted. Each transaction that changes
-- outcomes adds it; the process that counts removes it first.
CREATE TABLE changed (
  segment INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL
);
CREATE TABLE summary_state (              -- one row
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  trusted INTEGER NOT NULL                -- only programs that add to changed have written outcomes
);
INSERT INTO summary_state (one, trusted) VALUES (1, 1);
-- opens as a program that adds to changed last wrote it
ALTER TABLE ledger ADD COLUMN counted INTEGER NOT NULL DEFAULT -1;
