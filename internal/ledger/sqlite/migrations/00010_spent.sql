-- +goose Up
CREATE TABLE spent (                      -- what a done segment sent, so that a limit of a month does not read its outcomes again
  segment    INTEGER NOT NULL,
  quarter    INTEGER NOT NULL,            -- quarter of an hour, from 1970 on
  connection TEXT    NOT NULL,
  n          INTEGER NOT NULL,            -- messages that were accepted or may have been
  PRIMARY KEY (segment, quarter)
) WITHOUT ROWID;

CREATE TABLE ramp (                       -- how far the warm-up of a number has come
  connection TEXT    PRIMARY KEY,
  day        INTEGER NOT NULL,            -- plan.RampDay
  steps      INTEGER NOT NULL,
  cut        INTEGER NOT NULL             -- the quality of this day has taken its step back
) WITHOUT ROWID;

CREATE TABLE plan (                       -- one row: the messages of a month, as last configured
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  messages INTEGER NOT NULL
);
