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
  template_event TEXT    NOT NULL DEFAULT '', -- unused: the hold names the event
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
  definition     BLOB    NOT NULL,        -- it may overflow; hot reads stop before it
  -- JSON of the limits that the operator changed since the launch, campaign.LimitChange. '': none.
  limits         TEXT    NOT NULL DEFAULT '',
  -- How many deliveries of the run were deleted, and when the last were.
  retired_rows   INTEGER NOT NULL DEFAULT 0,
  retired_at     INTEGER NOT NULL DEFAULT 0,
  -- The character between the cells of the run's list; empty: it is not known.
  delimiter      TEXT    NOT NULL DEFAULT '',
  UNIQUE (campaign, list_hash, launch)
);
CREATE INDEX run_state ON run (state);
-- A firing (campaign.FiringKey) is one run, even if replicas read different lists.
CREATE UNIQUE INDEX run_firing ON run (campaign, launch) WHERE substr(launch, 1, 5) = 'cron ';
-- The schedule looks for the fired runs every second, among the runs of years.
CREATE INDEX run_fired ON run (campaign, no) WHERE substr(launch, 1, 5) = 'cron ';

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
  zone          TEXT    NOT NULL,
  -- The owner that was granted what is open in the segment, for the statement of its wire log. '':
  -- not known.
  granted_by    TEXT    NOT NULL DEFAULT '',
  -- How often the segment was moved to another connection.
  moved         INTEGER NOT NULL DEFAULT 0,
  -- The import has bound the segment to its connection.
  bound         INTEGER NOT NULL DEFAULT 0,
  -- Its messages are in the table sender; they are final.
  folded        INTEGER NOT NULL DEFAULT 0,
  -- A line for each move of the segment to another connection: the unsent rows, a space, and the
  -- connection that gave them away.
  moves         TEXT    NOT NULL DEFAULT ''
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
  key          INTEGER NOT NULL DEFAULT 0,  -- unused: the table attempt has it
  intent_at    INTEGER NOT NULL DEFAULT 0,  -- of retrying, doubt and unknown
  next_due     INTEGER NOT NULL DEFAULT 0,  -- of deferred
  detail       TEXT    NOT NULL DEFAULT '',
  warning      TEXT    NOT NULL DEFAULT '',
  request_id   TEXT    NOT NULL DEFAULT '',
  trace_id     TEXT    NOT NULL DEFAULT '',
  -- Owner that had been granted the attempt of a doubt that Recover wrote. '': of any other
  -- outcome.
  granted_by   TEXT    NOT NULL DEFAULT '',
  -- The connection of a delivery whose segment was moved since. '': that of its segment.
  connection   TEXT    NOT NULL DEFAULT ''
);
-- Not unique, because a repeated message id must not fail its batch for ever. No column that
-- webhooks write is in an index.
CREATE INDEX outcome_mh ON outcome (mh) WHERE mh <> 0;
CREATE INDEX outcome_open ON outcome (rid, state, next_due) WHERE state IN (1, 2, 3) /* open */;
-- The index of what people look for among many deliveries.
CREATE INDEX outcome_trouble ON outcome (rid, state, CASE WHEN state = 5 /* accepted */ THEN fail_code ELSE code END)
  WHERE state IN (4, 6, 7) /* troubled */ OR failed_at <> 0;

CREATE TABLE orphan (                     -- statuses of messages that no delivery has
  mh          INTEGER NOT NULL,
  message_id  TEXT    NOT NULL,
  rank        INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  key         INTEGER NOT NULL,
  connection  TEXT    NOT NULL,
  code        TEXT    NOT NULL,
  untimed     INTEGER NOT NULL DEFAULT 0, -- the event has no time of its own; at is that of its receipt
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
  proof  TEXT    NOT NULL DEFAULT '', -- JSON of campaign.Proof
  PRIMARY KEY (key, scope)
) WITHOUT ROWID;
-- The opt-outs of recipients, by time: the breaker of policies.max_opt_outs counts the latest every
-- few seconds.
CREATE INDEX suppression_opt_out ON suppression (at) WHERE source NOT IN ('import', 'operator');

CREATE TABLE lane (                       -- what limits each lane, for `why`
  owner      TEXT    NOT NULL,
  run        INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  binding    TEXT    NOT NULL,
  detail     TEXT    NOT NULL,
  rate       REAL    NOT NULL,
  at         INTEGER NOT NULL,
  -- Whether the lane has something to send now: the run wants a share of the number.
  wants      INTEGER NOT NULL DEFAULT 0,
  -- When the limit of a lane may let it go on; 0: that is not known.
  until      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner, run, connection)
) WITHOUT ROWID;

CREATE TABLE job (                        -- the holder of each job that one process does at a time
  name        TEXT    PRIMARY KEY,
  owner       TEXT    NOT NULL,
  epoch       INTEGER NOT NULL,
  lease_until INTEGER NOT NULL            -- 0: released
) WITHOUT ROWID;

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

CREATE TABLE follow_up (                  -- the follow-up run of a parent that has a recipient: one
  parent INTEGER NOT NULL,
  key    INTEGER NOT NULL,
  rid    INTEGER NOT NULL,                -- the delivery in the follow-up
  PRIMARY KEY (parent, key)
) WITHOUT ROWID;

CREATE TABLE asset (                      -- the header medium of a run, by connection; '' is that of every other
  run        INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  asset      TEXT    NOT NULL,
  until      INTEGER NOT NULL,            -- the service keeps it until then
  file       TEXT    NOT NULL,            -- what was uploaded, to upload it again
  hash       TEXT    NOT NULL,            -- its SHA-256
  PRIMARY KEY (run, connection)
) WITHOUT ROWID;

CREATE TABLE firing (                     -- what became of the firings of schedules
  campaign     TEXT    NOT NULL,
  key          TEXT    NOT NULL,          -- the civil time or the instant
  at           INTEGER NOT NULL,
  missed       INTEGER NOT NULL,          -- firings before this one that nobody fired
  missed_since INTEGER NOT NULL,
  since        INTEGER NOT NULL,          -- when a launch was first possible
  outcome      TEXT    NOT NULL,
  detail       TEXT    NOT NULL,
  run          INTEGER NOT NULL,          -- 0: none
  PRIMARY KEY (campaign, key)
) WITHOUT ROWID;
CREATE INDEX firing_at ON firing (campaign, at);
-- The schedule looks for these every second, among the firings of years.
CREATE INDEX firing_open ON firing (campaign, at) WHERE outcome IN ('launching', 'waiting');
CREATE INDEX firing_added ON firing (campaign, at) WHERE outcome = 'added';

CREATE TABLE listening (                  -- when webhooks were taken; docs/protocol.md#doubts
  since INTEGER PRIMARY KEY,
  until INTEGER NOT NULL
);

CREATE TABLE portfolio (                  -- what shares a tier; docs/limits.md#tier
  id    TEXT    PRIMARY KEY,
  taken INTEGER NOT NULL                  -- its rows in reach
) WITHOUT ROWID;

-- A place of a tier is held by every message to its recipient: the place is free when none is left.
CREATE TABLE reach (                      -- the places of a tier: whom a portfolio has reached in 24 hours
  key       INTEGER NOT NULL,
  portfolio TEXT    NOT NULL,
  rid       INTEGER NOT NULL,             -- the delivery whose refusal ends this hold; 0: none does
  at        INTEGER NOT NULL,             -- of its last intent
  PRIMARY KEY (key, portfolio, rid)
) WITHOUT ROWID;
CREATE INDEX reach_at ON reach (portfolio, at);

CREATE TABLE inbound (                    -- the last message of a recipient, which opens a service window
  key        INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (key, connection)
) WITHOUT ROWID;
CREATE INDEX inbound_at ON inbound (at);

CREATE TABLE contact (                    -- messages that count for the pair limit and for frequency caps
  key        INTEGER NOT NULL,
  rid        INTEGER NOT NULL,
  at         INTEGER NOT NULL,            -- of the intent
  until      INTEGER NOT NULL,            -- the row is kept until then
  connection TEXT    NOT NULL,
  capped     INTEGER NOT NULL,            -- its run has a frequency cap
  PRIMARY KEY (key, rid)
) WITHOUT ROWID;
CREATE INDEX contact_until ON contact (until);

CREATE TABLE spent (                      -- what a done segment sent, so that a limit of a month does not read its outcomes again
  segment    INTEGER NOT NULL,
  quarter    INTEGER NOT NULL,            -- quarter of an hour, from 1970 on
  connection TEXT    NOT NULL,
  n          INTEGER NOT NULL,            -- messages that were accepted or may have been
  PRIMARY KEY (segment, quarter)
) WITHOUT ROWID;

CREATE TABLE ramp (                       -- how far the warm-up of a number has come
  connection TEXT    PRIMARY KEY,
  day        INTEGER NOT NULL,            -- plan.RampDay
  steps      INTEGER NOT NULL,
  cut        INTEGER NOT NULL             -- the quality of this day has taken its step back
) WITHOUT ROWID;

CREATE TABLE plan (                       -- one row: the messages of a month, as last configured
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  messages INTEGER NOT NULL
);

CREATE TABLE dropped_file (               -- files of watched buckets and folders that were taken
  no       INTEGER PRIMARY KEY,
  bucket   TEXT    NOT NULL,
  key      TEXT    NOT NULL,              -- its name in the bucket
  etag     TEXT    NOT NULL,              -- changes with its content
  size     INTEGER NOT NULL,
  campaign TEXT    NOT NULL,
  hash     TEXT    NOT NULL,              -- SHA-256; '': not read yet
  state    TEXT    NOT NULL,
  run      INTEGER NOT NULL,              -- 0: none
  place    TEXT    NOT NULL,              -- its name in done/ or rejected/
  detail   TEXT    NOT NULL,
  taken_at INTEGER NOT NULL,
  next_at  INTEGER NOT NULL               -- when an open file is looked after
);
CREATE UNIQUE INDEX dropped_file_version ON dropped_file (bucket, key, etag);
CREATE UNIQUE INDEX dropped_file_content ON dropped_file (campaign, hash)
  WHERE hash <> '' AND state NOT IN ('rejected', 'gone');
CREATE INDEX dropped_file_due ON dropped_file (bucket, next_at) WHERE state IN ('claimed', 'launched');

CREATE TABLE drop_wait (                  -- files that are not taken, and why
  bucket TEXT    NOT NULL,
  prefix TEXT    NOT NULL,
  key    TEXT    NOT NULL,                -- '': the place itself
  reason TEXT    NOT NULL,
  since  INTEGER NOT NULL,
  PRIMARY KEY (bucket, prefix, key)
) WITHOUT ROWID;

CREATE TABLE operator_key (               -- keys of the operator's API
  id         TEXT    NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL,
  hash       TEXT    NOT NULL,            -- SHA-256 of the key, in hex
  scope      TEXT    NOT NULL,
  company    TEXT    NOT NULL,            -- '': every company
  created_at INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL             -- 0: in force
) WITHOUT ROWID;
CREATE TABLE action (                     -- what operators did
  id     TEXT    NOT NULL PRIMARY KEY,
  at     INTEGER NOT NULL,
  who    TEXT    NOT NULL,
  what   TEXT    NOT NULL,
  target TEXT    NOT NULL,
  detail TEXT    NOT NULL
) WITHOUT ROWID;
CREATE INDEX action_at ON action (at, id);

CREATE TABLE moved (                      -- recipients who changed their number; their opt-outs go along
  key    INTEGER PRIMARY KEY,             -- of the old number
  dest   TEXT    NOT NULL,                -- the old number
  target INTEGER NOT NULL,                -- key of the new one
  new    TEXT    NOT NULL,                -- the new number
  at     INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE sender (                     -- which connections reached a recipient, for campaigns with numbers: sticky
  key        INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  at         INTEGER NOT NULL,            -- when the last message over it was accepted
  PRIMARY KEY (key, connection)
) WITHOUT ROWID;

CREATE TABLE notification (               -- what destinations are told of
  no          INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT    NOT NULL DEFAULT ('ntf_' || lower(hex(randomblob(16)))),
  destination TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  run         INTEGER NOT NULL,           -- 0: none
  campaign    TEXT    NOT NULL,
  subject     TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  detail      TEXT    NOT NULL,
  at          INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  attempts    INTEGER NOT NULL DEFAULT 0,
  since       INTEGER NOT NULL,           -- when its tries began
  next_at     INTEGER NOT NULL,           -- when it is looked after
  error       TEXT    NOT NULL DEFAULT '',
  body        TEXT    NOT NULL DEFAULT '' -- as it is sent; '': not tried yet
);
CREATE INDEX notification_due ON notification (destination, next_at) WHERE state IN ('waiting', 'pending');
CREATE INDEX notification_old ON notification (since) WHERE state IN ('sent', 'dead');

CREATE TABLE retired (                    -- segments whose deliveries retention.deliveries deleted
  segment INTEGER PRIMARY KEY,
  rows    INTEGER NOT NULL,
  at      INTEGER NOT NULL
);
CREATE TABLE retired_total (              -- what had become of them, as reports count it
  segment   INTEGER NOT NULL,
  state     INTEGER NOT NULL,
  rank      INTEGER NOT NULL,
  code      TEXT    NOT NULL,
  n         INTEGER NOT NULL,
  sent      INTEGER NOT NULL,             -- how many of them have the time or the flag, here and below
  failed    INTEGER NOT NULL,
  adopted   INTEGER NOT NULL,
  duplicate INTEGER NOT NULL,
  ambiguous INTEGER NOT NULL,
  PRIMARY KEY (segment, state, rank, code)
) WITHOUT ROWID;

CREATE TABLE opt_in (                     -- when recipients last resumed: an older opt-out that is delivered again does not count
  key   INTEGER NOT NULL,
  scope TEXT    NOT NULL,
  at    INTEGER NOT NULL,
  PRIMARY KEY (key, scope)
) WITHOUT ROWID;
