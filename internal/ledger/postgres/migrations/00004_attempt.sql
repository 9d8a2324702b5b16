-- +goose Up
CREATE TABLE attempt (                    -- open attempts: perhaps sent, and no answer proves either
  rid        bigint NOT NULL,
  attempt    int    NOT NULL,
  key        bigint NOT NULL,
  connection text   NOT NULL,             -- '' may be any
  intent_at  bigint NOT NULL,             -- it was not posted before
  doubt_at   bigint NOT NULL,             -- it was not posted after
  PRIMARY KEY (rid, attempt)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX attempt_key ON attempt (key);

-- The doubts, the unknown outcomes, and the earlier attempts of deliveries that are sent again.
INSERT INTO attempt (rid, attempt, key, connection, intent_at, doubt_at)
  SELECT o.rid, CASE WHEN o.state = 2 /* retrying */ THEN o.attempt - 1 ELSE o.attempt END, o.key,
    CASE WHEN o.flags & 32 /* any connection */ <> 0 THEN '' ELSE coalesce(s.connection, '') END,
    coalesce(o.intent_at, 0), coalesce(o.result_at, 0)
  FROM outcome o LEFT JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096)
  WHERE o.key IS NOT NULL AND (o.state IN (3, 4) /* adoptable */
    OR o.state IN (1, 2, 3) /* open */ AND o.flags & 2 /* may be a duplicate */ <> 0);

-- The column outcome.key stays, unused: an older program beside this one still writes it.
DROP INDEX outcome_doubt;

ALTER TABLE orphan ADD COLUMN untimed boolean NOT NULL DEFAULT false; -- the event has no time of its own; at is that of its receipt
