-- +goose Up
-- The run skips whom another run sent its template.
ALTER TABLE run ADD COLUMN leave_out INTEGER NOT NULL DEFAULT 0;
CREATE TABLE repeat (                     -- deliveries of such runs, and those of other runs to the same people
  rid   INTEGER NOT NULL,
  other INTEGER NOT NULL,
  PRIMARY KEY (rid, other)
) WITHOUT ROWID;
