-- +goose Up
-- The owner that was granted what is open in the segment, for the statement of its wire log. '': not known.
ALTER TABLE segment ADD COLUMN granted_by TEXT NOT NULL DEFAULT '';
-- Of a doubt that Recover wrote: the owner that had been granted the attempt. '': of any other outcome.
ALTER TABLE outcome ADD COLUMN granted_by TEXT NOT NULL DEFAULT '';
