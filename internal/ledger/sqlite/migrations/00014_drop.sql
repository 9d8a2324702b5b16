-- +goose Up
CREATE TABLE dropped_file (               -- files of watched buckets and folders that were taken
  no       INTEGER PRIMARY KEY,
  bucket   TEXT    NOT NULL,
  key      TEXT    NOT NULL,              -- its name in the bucket
  etag     TEXT    NOT NULL,              -- changes with its content
  size     INTEGER NOT NULL,
  campaign TEXT    NOT NULL,
  hash     TEXT    NOT NULL,              -- SHA-256; '': not read yet
  state    TEXT    NOT NULL,
  run      INTEGER NOT NULL,              -- 0: none
  place    TEXT    NOT NULL,              -- its name in done/ or rejected/
  detail   TEXT    NOT NULL,
  taken_at INTEGER NOT NULL,
  next_at  INTEGER NOT NULL               -- when an open file is looked after
);
CREATE UNIQUE INDEX dropped_file_version ON dropped_file (bucket, key, etag);
CREATE UNIQUE INDEX dropped_file_content ON dropped_file (campaign, hash)
  WHERE hash <> '' AND state NOT IN ('rejected', 'gone');
CREATE INDEX dropped_file_due ON dropped_file (bucket, next_at) WHERE state IN ('claimed', 'launched');

CREATE TABLE drop_wait (                  -- files that are not taken, and why
  bucket TEXT    NOT NULL,
  prefix TEXT    NOT NULL,
  key    TEXT    NOT NULL,                -- '': the place itself
  reason TEXT    NOT NULL,
  since  INTEGER NOT NULL,
  PRIMARY KEY (bucket, prefix, key)
) WITHOUT ROWID;
