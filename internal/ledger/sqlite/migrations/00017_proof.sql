-- +goose Up
ALTER TABLE suppression ADD COLUMN proof TEXT NOT NULL DEFAULT ''; -- JSON of campaign.Proof

CREATE TABLE moved (                      -- recipients who changed their number; their opt-outs go along
  key    INTEGER PRIMARY KEY,             -- of the old number
  dest   TEXT    NOT NULL,                -- the old number
  target INTEGER NOT NULL,                -- key of the new one
  new    TEXT    NOT NULL,                -- the new number
  at     INTEGER NOT NULL
) WITHOUT ROWID;
