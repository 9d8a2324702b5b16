-- +goose Up
CREATE TABLE dropped_file (               -- files of watched buckets and folders that were taken
  no       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  bucket   text   COLLATE "C" NOT NULL,
  key      text   COLLATE "C" NOT NULL,   -- its name in the bucket
  etag     text   COLLATE "C" NOT NULL,   -- changes with its content
  size     bigint NOT NULL,
  campaign text   COLLATE "C" NOT NULL,
  hash     text   COLLATE "C" NOT NULL,   -- SHA-256; '': not read yet
  state    text   NOT NULL,
  run      bigint NOT NULL,               -- 0: none
  place    text   NOT NULL,               -- its name in done/ or rejected/
  detail   text   NOT NULL,
  taken_at bigint NOT NULL,
  next_at  bigint NOT NULL                -- when an open file is looked after
);
CREATE UNIQUE INDEX dropped_file_version ON dropped_file (bucket, key, etag);
CREATE UNIQUE INDEX dropped_file_content ON dropped_file (campaign, hash)
  WHERE hash <> '' AND state NOT IN ('rejected', 'gone');
CREATE INDEX dropped_file_due ON dropped_file (bucket, next_at) WHERE state IN ('claimed', 'launched');

CREATE TABLE drop_wait (                  -- files that are not taken, and why
  bucket text   COLLATE "C" NOT NULL,
  prefix text   COLLATE "C" NOT NULL,
  key    text   COLLATE "C" NOT NULL,     -- '': the place itself
  reason text   NOT NULL,
  since  bigint NOT NULL,
  PRIMARY KEY (bucket, prefix, key)
);
