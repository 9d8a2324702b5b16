-- +goose Up
CREATE TABLE firing (                     -- what became of the firings of schedules
  campaign     text   COLLATE "C" NOT NULL,
  key          text   COLLATE "C" NOT NULL, -- the civil time or the instant
  at           bigint NOT NULL,
  missed       bigint NOT NULL,           -- firings before this one that nobody fired
  missed_since bigint NOT NULL,
  since        bigint NOT NULL,           -- when a launch was first possible
  outcome      text   NOT NULL,
  detail       text   NOT NULL,
  run          bigint NOT NULL,           -- 0: none
  PRIMARY KEY (campaign, key)
);
CREATE INDEX firing_at ON firing (campaign, at);
