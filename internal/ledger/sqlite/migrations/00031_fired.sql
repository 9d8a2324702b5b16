-- +goose Up
-- The schedule looks for these every second, among the runs and firings of years.
CREATE INDEX run_fired ON run (campaign, no) WHERE substr(launch, 1, 5) = 'cron ';
CREATE INDEX firing_open ON firing (campaign, at) WHERE outcome IN ('launching', 'waiting');
CREATE INDEX firing_added ON firing (campaign, at) WHERE outcome = 'added';
