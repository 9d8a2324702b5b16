-- +goose Up
CREATE TABLE job (                        -- who does what one process is to do at a time
  name        text COLLATE "C" PRIMARY KEY,
  owner       text   NOT NULL,
  epoch       bigint NOT NULL,
  lease_until bigint NOT NULL             -- 0: released
) WITH (fillfactor = 50);

-- A firing is one run, whatever list each replica reads (campaign.FiringKey).
CREATE UNIQUE INDEX run_firing ON run (campaign, launch) WHERE substr(launch, 1, 5) = 'cron ';
