-- +goose Up
CREATE TABLE job (                        -- the holder of each job that one process does at a time
  name        TEXT    PRIMARY KEY,
  owner       TEXT    NOT NULL,
  epoch       INTEGER NOT NULL,
  lease_until INTEGER NOT NULL            -- 0: released
) WITHOUT ROWID;

-- A firing (campaign.FiringKey) is one run, even if replicas read different lists.
CREATE UNIQUE INDEX run_firing ON run (campaign, launch) WHERE substr(launch, 1, 5) = 'cron ';
