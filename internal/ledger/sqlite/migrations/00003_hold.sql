-- +goose Up
CREATE TABLE hold (                       -- what must not be sent now; docs/protocol.md#holds
  scope     TEXT    NOT NULL,
  id        TEXT    NOT NULL,
  reason    TEXT    NOT NULL,             -- '': the marker of when scope and id were healed
  detail    TEXT    NOT NULL,
  source    TEXT    NOT NULL,
  since     INTEGER NOT NULL,             -- of a marker: when an event last healed
  latest    INTEGER NOT NULL,
  until     INTEGER NOT NULL,
  manual    INTEGER NOT NULL,
  count     INTEGER NOT NULL,
  lifted    INTEGER NOT NULL,             -- of a marker: when an operator last healed
  lifted_by TEXT    NOT NULL,
  PRIMARY KEY (scope, id, reason)
) WITHOUT ROWID;
CREATE INDEX hold_open ON hold (id) WHERE lifted = 0 AND reason <> '';

-- Only the operator, the canary, the run's own breaker and the quarantine pause a run. The others
-- are holds, which begin again with the next refusal.
-- The column run.template_event stays, unused: the hold names the event.
UPDATE run SET state = CASE WHEN wanted = 'pause' THEN 'paused' ELSE 'ready' END,
  reason = CASE WHEN wanted = 'pause' THEN 'operator' ELSE '' END, detail = '', template_event = ''
  WHERE state = 'paused' AND reason IN ('template', 'number', 'account', 'allowance');
