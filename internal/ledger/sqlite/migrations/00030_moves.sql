-- +goose Up
-- A line for each move of the segment to another connection: the unsent rows, a space, and the
-- connection that gave them away.
ALTER TABLE segment ADD COLUMN moves TEXT NOT NULL DEFAULT '';
