-- +goose Up
CREATE TABLE retired (                    -- segments whose deliveries retention.deliveries deleted
  segment bigint PRIMARY KEY,
  rows    bigint NOT NULL,
  at      bigint NOT NULL
);
CREATE TABLE retired_total (              -- what had become of them, as reports count it
  segment   bigint   NOT NULL,
  state     smallint NOT NULL,
  rank      smallint NOT NULL,
  code      text     COLLATE "C" NOT NULL,
  n         bigint   NOT NULL,
  sent      bigint   NOT NULL,            -- how many of them have the time or the flag, here and below
  failed    bigint   NOT NULL,
  adopted   bigint   NOT NULL,
  duplicate bigint   NOT NULL,
  ambiguous bigint   NOT NULL,
  PRIMARY KEY (segment, state, rank, code)
);
-- How many deliveries of the run were deleted, and when the last were.
ALTER TABLE run ADD COLUMN retired_rows bigint NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN retired_at bigint NOT NULL DEFAULT 0;
