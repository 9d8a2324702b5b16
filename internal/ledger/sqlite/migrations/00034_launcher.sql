-- +goose Up
-- Approval needs a second person: launched_by is the operator who launched the run, as the log of
-- actions names them; '' for schedules, dropped files and runs of an older program.
ALTER TABLE run ADD COLUMN launched_by TEXT NOT NULL DEFAULT '';
