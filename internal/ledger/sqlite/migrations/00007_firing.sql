-- +goose Up
CREATE TABLE firing (                     -- what became of the firings of schedules
  campaign     TEXT    NOT NULL,
  key          TEXT    NOT NULL,          -- the civil time or the instant
  at           INTEGER NOT NULL,
  missed       INTEGER NOT NULL,          -- firings before this one that nobody fired
  missed_since INTEGER NOT NULL,
  since        INTEGER NOT NULL,          -- when a launch was first possible
  outcome      TEXT    NOT NULL,
  detail       TEXT    NOT NULL,
  run          INTEGER NOT NULL,          -- 0: none
  PRIMARY KEY (campaign, key)
) WITHOUT ROWID;
CREATE INDEX firing_at ON firing (campaign, at);
