-- +goose Up
-- The tag of the sidecar that a dropped file had when it was taken; 'none': it had none; '': not
-- looked for yet.
ALTER TABLE dropped_file ADD COLUMN sidecar TEXT NOT NULL DEFAULT '';
