-- +goose Up
CREATE TABLE spent (                      -- what a done segment sent, so that a limit of a month does not read its outcomes again
  segment    bigint NOT NULL,
  quarter    bigint NOT NULL,             -- quarter of an hour, from 1970 on
  connection text   NOT NULL,
  n          bigint NOT NULL,             -- messages that were accepted or may have been
  PRIMARY KEY (segment, quarter)
);

CREATE TABLE ramp (                       -- how far the warm-up of a number has come
  connection text    COLLATE "C" PRIMARY KEY,
  day        bigint  NOT NULL,            -- plan.RampDay
  steps      bigint  NOT NULL,
  cut        boolean NOT NULL             -- the quality of this day has taken its step back
);

CREATE TABLE plan (                       -- one row: the messages of a month, as last configured
  one      int    PRIMARY KEY CHECK (one = 1),
  messages bigint NOT NULL
);
