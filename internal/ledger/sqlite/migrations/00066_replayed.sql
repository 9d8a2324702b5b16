-- +goose Up
-- How many deliveries the service said it posts again, and how many of the lost time have come.
ALTER TABLE lost_time ADD COLUMN deliveries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lost_time ADD COLUMN came INTEGER NOT NULL DEFAULT 0;
