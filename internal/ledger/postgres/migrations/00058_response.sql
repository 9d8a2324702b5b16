-- +goose Up
CREATE TABLE reply (                      -- replies and opt-outs whose message is still to be found
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key     bigint   NOT NULL,              -- of the person; 0: only mh tells who it is
  mh      bigint   NOT NULL,              -- of the message of ours that it answers; 0: it names none
  at      bigint   NOT NULL,
  opt_out smallint NOT NULL               -- 1: the person opted out
);
CREATE TABLE response (                   -- what recipients did after a message (docs/protocol.md#responses)
  rid          bigint PRIMARY KEY,
  replied_at   bigint NOT NULL,           -- for the first time; 0: never
  opted_out_at bigint NOT NULL
);
CREATE TABLE response_state (             -- one row
  one   smallint PRIMARY KEY CHECK (one = 1),
  since bigint NOT NULL                   -- responses are kept since then
);
INSERT INTO response_state (one, since) VALUES (1, ledger_now());
