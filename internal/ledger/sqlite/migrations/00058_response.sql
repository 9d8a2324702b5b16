-- +goose Up
CREATE TABLE reply (                      -- replies and opt-outs whose message is still to be found
  id      INTEGER PRIMARY KEY,
  key     INTEGER NOT NULL,               -- of the person; 0: only mh tells who it is
  mh      INTEGER NOT NULL,               -- of the message of ours that it answers; 0: it names none
  at      INTEGER NOT NULL,
  opt_out INTEGER NOT NULL                -- 1: the person opted out
);
CREATE TABLE response (                   -- what recipients did after a message (docs/protocol.md#responses)
  rid          INTEGER PRIMARY KEY,
  replied_at   INTEGER NOT NULL,          -- for the first time; 0: never
  opted_out_at INTEGER NOT NULL
);
CREATE TABLE response_state (             -- one row
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  since INTEGER NOT NULL                  -- responses are kept since then
);
INSERT INTO response_state (one, since) VALUES (1, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
