-- +goose Up
CREATE TABLE job (                        -- the holder of each job that one process does at a time
  name        text COLLATE "C" PRIMARY KEY,
  owner       text   NOT NULL,
  epoch       bigint NOT NULL,
  lease_until bigint NOT NULL             -- 0: released
) WITH (fillfactor = 50);

-- A firing (campaign.FiringKey) is one run, even if replicas read different lists.
CREATE UNIQUE INDEX run_firing ON run (campaign, launch) WHERE substr(launch, 1, 5) = 'cron ';
