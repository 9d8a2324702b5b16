-- +goose Up
CREATE TABLE notification (               -- what destinations are told of
  no          INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT    NOT NULL DEFAULT ('ntf_' || lower(hex(randomblob(16)))),
  destination TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  run         INTEGER NOT NULL,           -- 0: none
  campaign    TEXT    NOT NULL,
  subject     TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  detail      TEXT    NOT NULL,
  at          INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  attempts    INTEGER NOT NULL DEFAULT 0,
  since       INTEGER NOT NULL,           -- when its tries began
  next_at     INTEGER NOT NULL,           -- when it is looked after
  error       TEXT    NOT NULL DEFAULT '',
  body        TEXT    NOT NULL DEFAULT '' -- as it is sent; '': not tried yet
);
CREATE INDEX notification_due ON notification (destination, next_at) WHERE state IN ('waiting', 'pending');
CREATE INDEX notification_old ON notification (since) WHERE state IN ('sent', 'dead');
