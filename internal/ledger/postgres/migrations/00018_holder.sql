-- +goose Up
-- A place of a tier is held by every message to its recipient: the place is free when none is left.
-- rid is the delivery whose refusal ends its hold; 0: none does.
ALTER TABLE reach DROP CONSTRAINT reach_pkey, ADD PRIMARY KEY (key, portfolio, rid);
