-- +goose Up
CREATE TABLE retired (                    -- segments whose deliveries retention.deliveries deleted
  segment INTEGER PRIMARY KEY,
  rows    INTEGER NOT NULL,
  at      INTEGER NOT NULL
);
CREATE TABLE retired_total (              -- what had become of them, as reports count it
  segment   INTEGER NOT NULL,
  state     INTEGER NOT NULL,
  rank      INTEGER NOT NULL,
  code      TEXT    NOT NULL,
  n         INTEGER NOT NULL,
  sent      INTEGER NOT NULL,             -- how many of them have the time or the flag, here and below
  failed    INTEGER NOT NULL,
  adopted   INTEGER NOT NULL,
  duplicate INTEGER NOT NULL,
  ambiguous INTEGER NOT NULL,
  PRIMARY KEY (segment, state, rank, code)
) WITHOUT ROWID;
-- How many deliveries of the run were deleted, and when the last were.
ALTER TABLE run ADD COLUMN retired_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN retired_at INTEGER NOT NULL DEFAULT 0;
