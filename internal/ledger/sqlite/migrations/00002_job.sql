-- +goose Up
CREATE TABLE job (                        -- who does what one process is to do at a time
  name        TEXT    PRIMARY KEY,
  owner       TEXT    NOT NULL,
  epoch       INTEGER NOT NULL,
  lease_until INTEGER NOT NULL            -- 0: released
) WITHOUT ROWID;

-- A firing is one run, whatever list each replica reads (campaign.FiringKey).
CREATE UNIQUE INDEX run_firing ON run (campaign, launch) WHERE substr(launch, 1, 5) = 'cron ';
