-- +goose Up
-- When a sender reported last. In a ledger that went back in time none does before the quarantine.
ALTER TABLE ledger ADD COLUMN alive_at INTEGER NOT NULL DEFAULT 0;
CREATE TABLE lost_time (                  -- docs/protocol.md#when-the-ledger-goes-back-in-time
  at    INTEGER PRIMARY KEY,              -- of the quarantine
  since INTEGER NOT NULL,                 -- nothing older was lost
  asked INTEGER NOT NULL DEFAULT 0        -- when a replay of its events was asked for; 0: never
);
