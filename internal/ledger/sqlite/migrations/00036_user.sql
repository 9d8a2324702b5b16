-- +goose Up
CREATE TABLE user_pair (                  -- the numbers of persons whom events name by a user id of the platform
  user_id TEXT    NOT NULL,
  key     INTEGER NOT NULL,
  dest    TEXT    NOT NULL,
  at      INTEGER NOT NULL,               -- when it was told last, to a day
  PRIMARY KEY (user_id, key)
) WITHOUT ROWID;
CREATE INDEX user_pair_key ON user_pair (key);

CREATE TABLE wish (                       -- opt-outs and opt-ins that wait until the number of their person is known
  id       INTEGER PRIMARY KEY,
  user_id  TEXT    NOT NULL,              -- '': the event names nobody
  answers  TEXT    NOT NULL,              -- our message that it is about; '': none
  mh       INTEGER NOT NULL,              -- the hash of answers, or 0
  event    TEXT    NOT NULL,              -- the person's own message; '': none
  scope    TEXT    NOT NULL,
  resume   INTEGER NOT NULL,
  source   TEXT    NOT NULL,
  at       INTEGER NOT NULL,
  until    INTEGER NOT NULL,
  received INTEGER NOT NULL,              -- its first receipt
  proof    TEXT    NOT NULL,
  UNIQUE (user_id, answers, event, scope, resume)
);
