-- +goose Up
-- The character between the cells of the run's list; empty: it is not known.
ALTER TABLE run ADD COLUMN delimiter TEXT NOT NULL DEFAULT '';
