-- +goose Up
-- The files that the number in opens was written to (stamp.go): the number, and the ids of the
-- ledger's file and of its companion. A number is no longer a count of openings.
ALTER TABLE ledger ADD COLUMN files TEXT NOT NULL DEFAULT '';
