-- +goose Up
CREATE TABLE attempt (                    -- open attempts: perhaps sent, and no answer proves either
  rid        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  key        INTEGER NOT NULL,
  connection TEXT    NOT NULL,            -- '' may be any
  intent_at  INTEGER NOT NULL,            -- it was not posted before
  doubt_at   INTEGER NOT NULL,            -- it was not posted after
  PRIMARY KEY (rid, attempt)
) WITHOUT ROWID;
CREATE INDEX attempt_key ON attempt (key);

-- The doubts, the unknown outcomes, and the earlier attempts of deliveries that are sent again.
INSERT INTO attempt (rid, attempt, key, connection, intent_at, doubt_at)
  SELECT o.rid, CASE WHEN o.state = 2 /* retrying */ THEN o.attempt - 1 ELSE o.attempt END, o.key,
    CASE WHEN o.flags & 32 /* any connection */ THEN '' ELSE coalesce(s.connection, '') END, o.intent_at, o.result_at
  FROM outcome o LEFT JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 0xffffffff) / 4096)
  WHERE o.key <> 0 AND (o.state IN (3, 4) /* adoptable */
    OR o.state IN (1, 2, 3) /* open */ AND o.flags & 2 /* may be a duplicate */);

-- The column outcome.key stays, unused: SQLite would write the whole table again to drop it.
DROP INDEX outcome_doubt;

ALTER TABLE orphan ADD COLUMN untimed INTEGER NOT NULL DEFAULT 0; -- the event has no time of its own; at is that of its receipt
