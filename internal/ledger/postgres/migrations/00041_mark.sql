-- +goose Up
-- The attempt that the mark of a status proves: its row id and its number; 0 without a mark.
ALTER TABLE orphan ADD COLUMN marked bigint NOT NULL DEFAULT 0;
ALTER TABLE orphan ADD COLUMN attempt bigint NOT NULL DEFAULT 0;
