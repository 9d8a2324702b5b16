-- +goose Up
-- The opt-outs of recipients, by time: the breaker of policies.max_opt_outs counts the latest every
-- few seconds.
CREATE INDEX suppression_opt_out ON suppression (at) WHERE source NOT IN ('import', 'operator');
