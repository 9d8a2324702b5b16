-- +goose Up
CREATE TABLE history (                    -- what happened to runs; rows are only added
  no     INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  run    INTEGER NOT NULL,                -- 0: of a hold, which may be about several
  kind   TEXT    NOT NULL,                -- state, wanted, limits, canary, hold, hold_ended
  value  TEXT    NOT NULL,                -- the new state, what is wanted, the limits; of a hold its scope
  id     TEXT    NOT NULL,                -- of what is held
  detail TEXT    NOT NULL
);
CREATE INDEX history_run ON history (run, no);
CREATE TABLE lane_history (               -- what limited each lane: each change, and the rate once a minute
  run        INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  owner      TEXT    NOT NULL,
  binding    TEXT    NOT NULL,
  rate       REAL    NOT NULL,
  PRIMARY KEY (run, connection, owner, at)
) WITHOUT ROWID;

-- Triggers write in the transaction of the change, whichever statement makes it.
CREATE TRIGGER run_state AFTER UPDATE OF state, reason ON run WHEN old.state <> new.state OR old.reason <> new.reason BEGIN
  INSERT INTO history (at, run, kind, value, id, detail) VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), new.no,
    'state', new.state, '', new.reason || CASE WHEN new.detail <> '' THEN ': ' || new.detail ELSE '' END);
END;
CREATE TRIGGER run_wanted AFTER UPDATE OF wanted ON run WHEN old.wanted <> new.wanted BEGIN
  INSERT INTO history (at, run, kind, value, id, detail) VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), new.no,
    'wanted', new.wanted, '', '');
END;
CREATE TRIGGER run_limits AFTER UPDATE OF limits ON run WHEN old.limits <> new.limits BEGIN
  INSERT INTO history (at, run, kind, value, id, detail) VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), new.no,
    'limits', new.limits, '', '');
END;
CREATE TRIGGER hold_began AFTER INSERT ON hold WHEN new.reason <> '' BEGIN
  INSERT INTO history (at, run, kind, value, id, detail) VALUES (new.since, 0, 'hold', new.scope, new.id, new.reason);
END;
CREATE TRIGGER hold_changed AFTER UPDATE ON hold
  WHEN new.reason <> '' AND ((old.lifted = 0) <> (new.lifted = 0) OR old.since <> new.since) BEGIN
  INSERT INTO history (at, run, kind, value, id, detail) VALUES (CASE WHEN new.lifted <> 0 THEN new.lifted ELSE new.since END, 0,
    CASE WHEN new.lifted <> 0 THEN 'hold_ended' ELSE 'hold' END, new.scope, new.id, new.reason);
END;
CREATE TRIGGER lane_told AFTER INSERT ON lane BEGIN
  INSERT OR IGNORE INTO lane_history (run, at, connection, owner, binding, rate)
  SELECT new.run, new.at, new.connection, new.owner, new.binding, new.rate WHERE coalesce((
    SELECT h.binding <> new.binding OR h.rate <> new.rate AND h.at <= new.at - 60000 FROM lane_history h
    WHERE h.run = new.run AND h.connection = new.connection AND h.owner = new.owner ORDER BY h.at DESC LIMIT 1), 1);
END;
