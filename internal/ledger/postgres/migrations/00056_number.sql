-- +goose Up
CREATE TABLE key_part (                   -- which parts of runs (256 segments) have their numbers in key_page
  part   bigint PRIMARY KEY,              -- the id of its first segment
  erased bigint  NOT NULL DEFAULT 0,      -- rows that were erased since it was begun
  phase  bigint  NOT NULL DEFAULT 0       -- 0 begun, 1 kept, 2 retention has deleted some of the rows
);
CREATE TABLE key_page (                   -- the numbers of a part in order, and the seqs of their rows
  part bigint  NOT NULL,
  lo   bigint  NOT NULL,                  -- no number of the page is lower, none of the page before as high
  keys bytea   NOT NULL,
  PRIMARY KEY (part, lo)
);
CREATE INDEX segment_part ON segment (id) WHERE id & 255 = 0;
