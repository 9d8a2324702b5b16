-- +goose Up
-- The index of what people look for among many deliveries.
CREATE INDEX outcome_trouble ON outcome (rid, state, CASE WHEN state = 5 /* accepted */ THEN fail_code ELSE code END)
  WHERE state IN (4, 6, 7) /* troubled */ OR failed_at <> 0;
