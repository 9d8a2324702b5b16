-- +goose Up
ALTER TABLE suppression ADD COLUMN proof text NOT NULL DEFAULT ''; -- JSON of campaign.Proof

CREATE TABLE moved (                      -- recipients who changed their number; their opt-outs go along
  key    bigint  PRIMARY KEY,             -- of the old number
  dest   text    NOT NULL,                -- the old number
  target bigint  NOT NULL,                -- key of the new one
  new    text    NOT NULL,                -- the new number
  at     bigint  NOT NULL
);
