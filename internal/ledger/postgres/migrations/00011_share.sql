-- +goose Up
-- JSON of the limits that the operator changed since the launch, campaign.LimitChange. '': none.
ALTER TABLE run ADD COLUMN limits text NOT NULL DEFAULT '';
-- Whether the lane has something to send now: the run wants a share of the number.
ALTER TABLE lane ADD COLUMN wants boolean NOT NULL DEFAULT false;
