-- Times are Unix milliseconds, 0 for none. Texts are '' for none. The package comment of
-- internal/ledger explains the tables; its state.go names the codes of state, rank and flags.

-- +goose Up
CREATE TABLE ledger (                     -- one row: which ledger this is
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  id       TEXT    NOT NULL,
  opens    INTEGER NOT NULL,              -- how often a sender opened it; the stamp beside the file says it too
  hash_key BLOB    NOT NULL               -- key of the hash of message ids
);

CREATE TABLE run (
  no             INTEGER PRIMARY KEY,
  state          TEXT    NOT NULL,
  wanted         TEXT    NOT NULL,
  reason         TEXT    NOT NULL DEFAULT '',
  marketing      INTEGER NOT NULL,
  budget         INTEGER NOT NULL,
  template       TEXT    NOT NULL,
  language       TEXT    NOT NULL,
  template_event TEXT    NOT NULL DEFAULT '', -- the event that paused it
  detail         TEXT    NOT NULL DEFAULT '',
  created_at     INTEGER NOT NULL,
  started_at     INTEGER NOT NULL DEFAULT 0,
  ended_at       INTEGER NOT NULL DEFAULT 0,
  parent         INTEGER NOT NULL,
  campaign       TEXT    NOT NULL,
  list_hash      TEXT    NOT NULL,
  launch         TEXT    NOT NULL,
  list_name      TEXT    NOT NULL,
  asset          TEXT    NOT NULL,
  asset_until    INTEGER NOT NULL,
  header         TEXT    NOT NULL,        -- JSON array
  definition     BLOB    NOT NULL,        -- last: it may overflow, and hot reads stop before it
  UNIQUE (campaign, list_hash, launch)
);
CREATE INDEX run_state ON run (state);

CREATE TABLE run_count (                  -- the columns of a run that often change
  no       INTEGER PRIMARY KEY,
  rows     INTEGER NOT NULL DEFAULT 0,
  taken    INTEGER NOT NULL DEFAULT 0,    -- deliveries granted against the budget
  event_at INTEGER NOT NULL DEFAULT 0     -- when a status was last applied
);

CREATE TABLE segment (
  id            INTEGER PRIMARY KEY,      -- run << 32 | index
  run           INTEGER NOT NULL,
  lo            INTEGER NOT NULL,
  hi            INTEGER NOT NULL,
  mark          INTEGER NOT NULL,         -- seq below it may have been posted
  epoch         INTEGER NOT NULL DEFAULT 0,
  done          INTEGER NOT NULL,
  closed        INTEGER NOT NULL,
  lease_until   INTEGER NOT NULL DEFAULT 0,
  wake_at       INTEGER NOT NULL DEFAULT 0,
  intents_since INTEGER NOT NULL DEFAULT 0, -- no intent below the mark without an outcome is older
  connection    TEXT    NOT NULL DEFAULT '',
  owner         TEXT    NOT NULL DEFAULT '',
  zone          TEXT    NOT NULL
);
CREATE INDEX segment_undone ON segment (run) WHERE done = 0;

CREATE TABLE delivery (                   -- written once, by the import
  rid   INTEGER PRIMARY KEY,              -- run << 32 | seq
  key   INTEGER NOT NULL,
  row   INTEGER NOT NULL,
  dest  TEXT    NOT NULL,
  cells TEXT    NOT NULL                  -- JSON array
);
CREATE UNIQUE INDEX delivery_row ON delivery (rid >> 32, row);

CREATE TABLE outcome (                    -- after an acceptance only webhooks change it
  rid          INTEGER PRIMARY KEY,
  state        INTEGER NOT NULL,
  rank         INTEGER NOT NULL DEFAULT 0,
  flags        INTEGER NOT NULL DEFAULT 0,
  attempt      INTEGER NOT NULL DEFAULT 0,
  tries        INTEGER NOT NULL DEFAULT 0,
  mh           INTEGER NOT NULL DEFAULT 0,
  result_at    INTEGER NOT NULL DEFAULT 0, -- of a doubt: when it began
  sent_at      INTEGER NOT NULL DEFAULT 0,
  delivered_at INTEGER NOT NULL DEFAULT 0,
  read_at      INTEGER NOT NULL DEFAULT 0,
  failed_at    INTEGER NOT NULL DEFAULT 0,
  fail_code    TEXT    NOT NULL DEFAULT '',
  code         TEXT    NOT NULL DEFAULT '', -- skip reason, service error, why it waits, why it is in doubt
  message_id   TEXT    NOT NULL DEFAULT '',
  key          INTEGER NOT NULL DEFAULT 0,  -- set in doubt and unknown only
  intent_at    INTEGER NOT NULL DEFAULT 0,  -- of retrying, doubt and unknown
  next_due     INTEGER NOT NULL DEFAULT 0,  -- of deferred
  detail       TEXT    NOT NULL DEFAULT '',
  warning      TEXT    NOT NULL DEFAULT '',
  request_id   TEXT    NOT NULL DEFAULT '',
  trace_id     TEXT    NOT NULL DEFAULT ''
);
-- Not unique, because a repeated message id must not fail its batch for ever. No column that
-- webhooks write is in an index.
CREATE INDEX outcome_mh ON outcome (mh) WHERE mh <> 0;
CREATE INDEX outcome_open ON outcome (rid, state, next_due) WHERE state IN (1, 2, 3) /* open */;
CREATE INDEX outcome_doubt ON outcome (key) WHERE state IN (3, 4) /* adoptable */;

CREATE TABLE orphan (                     -- statuses of messages that no delivery has
  mh          INTEGER NOT NULL,
  message_id  TEXT    NOT NULL,
  rank        INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  key         INTEGER NOT NULL,
  connection  TEXT    NOT NULL,
  code        TEXT    NOT NULL,
  PRIMARY KEY (mh, message_id, rank)
) WITHOUT ROWID;
CREATE INDEX orphan_key ON orphan (key) WHERE key <> 0;
CREATE INDEX orphan_received ON orphan (received_at);

CREATE TABLE suppression (
  key    INTEGER NOT NULL,
  scope  TEXT    NOT NULL,
  until  INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  dest   TEXT    NOT NULL,
  source TEXT    NOT NULL,
  PRIMARY KEY (key, scope)
) WITHOUT ROWID;

CREATE TABLE lane (                       -- what limits each lane, for `why`
  owner      TEXT    NOT NULL,
  run        INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  binding    TEXT    NOT NULL,
  detail     TEXT    NOT NULL,
  rate       REAL    NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (owner, run, connection)
) WITHOUT ROWID;
