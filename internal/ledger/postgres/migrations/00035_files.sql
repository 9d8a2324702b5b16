-- +goose Up
-- SQLite alone keeps the names of its files. Both databases have the same numbers.
SELECT 1;
