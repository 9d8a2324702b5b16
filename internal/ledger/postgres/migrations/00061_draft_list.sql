-- +goose Up
-- Replicas may have different lists of one draft on their disks: list names the newest.
ALTER TABLE draft ADD COLUMN list text NOT NULL DEFAULT '';
