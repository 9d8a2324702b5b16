-- +goose Up
CREATE TABLE history (                    -- what happened to runs; rows are only added
  no     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at     bigint NOT NULL,
  run    bigint NOT NULL,                 -- 0: of a hold, which may be about several
  kind   text   NOT NULL,                 -- state, wanted, limits, canary, hold, hold_ended
  value  text   NOT NULL,                 -- the new state, what is wanted, the limits; of a hold its scope
  id     text   NOT NULL,                 -- of what is held
  detail text   NOT NULL
);
CREATE INDEX history_run ON history (run, no);
CREATE TABLE lane_history (               -- what limited each lane: each change, and the rate once a minute
  run        bigint NOT NULL,
  at         bigint NOT NULL,
  connection text   NOT NULL COLLATE "C",
  owner      text   NOT NULL COLLATE "C",
  binding    text   NOT NULL,
  rate       float8 NOT NULL,
  PRIMARY KEY (run, connection, owner, at)
);

-- Triggers write in the transaction of the change, whichever statement makes it.
CREATE FUNCTION tell_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF OLD.state <> NEW.state OR OLD.reason <> NEW.reason THEN
    INSERT INTO history (at, run, kind, value, id, detail) VALUES (ledger_now(), NEW.no, 'state', NEW.state, '',
      NEW.reason || CASE WHEN NEW.detail <> '' THEN ': ' || NEW.detail ELSE '' END);
  END IF;
  IF OLD.wanted <> NEW.wanted THEN
    INSERT INTO history (at, run, kind, value, id, detail) VALUES (ledger_now(), NEW.no, 'wanted', NEW.wanted, '', '');
  END IF;
  IF OLD.limits <> NEW.limits THEN
    INSERT INTO history (at, run, kind, value, id, detail) VALUES (ledger_now(), NEW.no, 'limits', NEW.limits, '', '');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER run_told AFTER UPDATE OF state, reason, wanted, limits ON run FOR EACH ROW EXECUTE FUNCTION tell_run();
CREATE FUNCTION tell_hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.reason <> '' AND (TG_OP = 'INSERT' OR (OLD.lifted = 0) <> (NEW.lifted = 0) OR OLD.since <> NEW.since) THEN
    INSERT INTO history (at, run, kind, value, id, detail) VALUES (CASE WHEN NEW.lifted <> 0 THEN NEW.lifted ELSE NEW.since END, 0,
      CASE WHEN NEW.lifted <> 0 THEN 'hold_ended' ELSE 'hold' END, NEW.scope, NEW.id, NEW.reason);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER hold_told AFTER INSERT OR UPDATE ON hold FOR EACH ROW EXECUTE FUNCTION tell_hold();
CREATE FUNCTION tell_lane() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO lane_history (run, at, connection, owner, binding, rate)
  SELECT NEW.run, NEW.at, NEW.connection, NEW.owner, NEW.binding, NEW.rate WHERE coalesce((
    SELECT h.binding <> NEW.binding OR h.rate <> NEW.rate AND h.at <= NEW.at - 60000 FROM lane_history h
    WHERE h.run = NEW.run AND h.connection = NEW.connection AND h.owner = NEW.owner ORDER BY h.at DESC LIMIT 1), true)
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER lane_told AFTER INSERT OR UPDATE ON lane FOR EACH ROW EXECUTE FUNCTION tell_lane();
