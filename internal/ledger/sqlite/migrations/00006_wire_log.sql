-- +goose Up
-- The owner that was granted what is open in the segment, for the statement of its wire log. '':
-- not known.
ALTER TABLE segment ADD COLUMN granted_by TEXT NOT NULL DEFAULT '';
-- Owner that had been granted the attempt of a doubt that Recover wrote. '': of any other outcome.
ALTER TABLE outcome ADD COLUMN granted_by TEXT NOT NULL DEFAULT '';
