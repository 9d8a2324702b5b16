-- +goose Up
-- The connection of a delivery whose segment was moved since. NULL: that of its segment.
ALTER TABLE outcome ADD COLUMN connection text COLLATE "C";
-- How often the segment was moved to another connection.
ALTER TABLE segment ADD COLUMN moved bigint NOT NULL DEFAULT 0;
