-- +goose Up
-- The connection of a delivery whose segment was moved since. '': that of its segment.
ALTER TABLE outcome ADD COLUMN connection TEXT NOT NULL DEFAULT '';
-- How often the segment was moved to another connection.
ALTER TABLE segment ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
