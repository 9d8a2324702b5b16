-- +goose Up
CREATE TABLE follow_up (                  -- the follow-up run of a parent that has a recipient: one
  parent INTEGER NOT NULL,
  key    INTEGER NOT NULL,
  rid    INTEGER NOT NULL,                -- the delivery in the follow-up
  PRIMARY KEY (parent, key)
) WITHOUT ROWID;
INSERT OR IGNORE INTO follow_up (parent, key, rid)
  SELECT r.parent, d.key, d.rid FROM run r JOIN delivery d ON d.rid >= r.no << 32 AND d.rid < (r.no + 1) << 32
  LEFT JOIN outcome o ON o.rid = d.rid WHERE r.parent <> 0 AND d.key <> 0 AND o.state IS NOT 7 /* skipped */ ORDER BY d.rid;

CREATE TABLE asset (                      -- the header medium of a run, by connection; '' is that of every other
  run        INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  asset      TEXT    NOT NULL,
  until      INTEGER NOT NULL,            -- the service keeps it until then
  file       TEXT    NOT NULL,            -- what was uploaded, to upload it again
  hash       TEXT    NOT NULL,            -- its SHA-256
  PRIMARY KEY (run, connection)
) WITHOUT ROWID;
INSERT INTO asset (run, connection, asset, until, file, hash) SELECT no, '', asset, asset_until, '', '' FROM run WHERE asset <> '';
