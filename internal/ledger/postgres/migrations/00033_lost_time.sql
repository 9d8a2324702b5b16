-- +goose Up
-- When a sender reported last while the server was the one that the ledger knows. In a ledger that
-- went back in time nothing sets it before the quarantine.
ALTER TABLE ledger ADD COLUMN alive_at bigint NOT NULL DEFAULT 0;
CREATE TABLE lost_time (                  -- docs/protocol.md#when-the-ledger-goes-back-in-time
  at    bigint PRIMARY KEY,               -- of the quarantine
  since bigint NOT NULL,                  -- nothing older was lost
  asked bigint NOT NULL DEFAULT 0         -- when a replay of its events was asked for; 0: never
);
