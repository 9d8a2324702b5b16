-- +goose Up
-- When the limit of a lane may let it go on; 0: that is not known.
ALTER TABLE lane ADD COLUMN until bigint NOT NULL DEFAULT 0;
