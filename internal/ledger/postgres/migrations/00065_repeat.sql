-- +goose Up
-- The run skips whom another run sent its template.
ALTER TABLE run ADD COLUMN leave_out boolean NOT NULL DEFAULT false;
CREATE TABLE repeat (                     -- deliveries of such runs, and those of other runs to the same people
  rid   bigint NOT NULL,
  other bigint NOT NULL,
  PRIMARY KEY (rid, other)
);
