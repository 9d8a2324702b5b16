-- +goose Up
-- A place of a tier is held by every message to its recipient: the place is free when none is left.
CREATE TABLE holder (
  key       INTEGER NOT NULL,
  portfolio TEXT    NOT NULL,
  rid       INTEGER NOT NULL,             -- the delivery whose refusal ends this hold; 0: none does
  at        INTEGER NOT NULL,             -- of its last intent
  PRIMARY KEY (key, portfolio, rid)
) WITHOUT ROWID;
INSERT INTO holder (key, portfolio, rid, at) SELECT key, portfolio, rid, at FROM reach;
DROP TABLE reach;
ALTER TABLE holder RENAME TO reach;
CREATE INDEX reach_at ON reach (portfolio, at);
