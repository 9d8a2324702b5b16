-- +goose Up
ALTER TABLE hold ADD COLUMN who TEXT NOT NULL DEFAULT '';        -- the operator who began it; '': somebody else
ALTER TABLE hold ADD COLUMN lifted_who TEXT NOT NULL DEFAULT '';
-- The columns of a hold:
ALTER TABLE history ADD COLUMN source TEXT NOT NULL DEFAULT '';  -- what began or ended it
ALTER TABLE history ADD COLUMN who TEXT NOT NULL DEFAULT '';     -- the operator
ALTER TABLE history ADD COLUMN why TEXT NOT NULL DEFAULT '';     -- a sentence
ALTER TABLE history ADD COLUMN until INTEGER NOT NULL DEFAULT 0; -- when it ends by itself; 0: it does not

DROP TRIGGER hold_began;
DROP TRIGGER hold_changed;
CREATE TRIGGER hold_began AFTER INSERT ON hold WHEN new.reason <> '' BEGIN
  INSERT INTO history (at, run, kind, value, id, detail, source, who, why, until)
  VALUES (new.latest, 0, 'hold', new.scope, new.id, new.reason, new.source, new.who, new.detail, new.until);
  INSERT INTO history (at, run, kind, value, id, detail, source, who)
  SELECT new.lifted, 0, 'hold_ended', new.scope, new.id, new.reason, new.lifted_by, new.lifted_who WHERE new.lifted <> 0;
END;
-- A hold that begins again, that lasts a minute longer or more, or that an operator changed.
CREATE TRIGGER hold_changed AFTER UPDATE ON hold WHEN new.reason <> '' AND new.lifted = 0 AND (old.lifted <> 0
    OR old.since <> new.since OR old.count <> new.count OR new.until > old.until + 60000
    OR new.source = 'operator' AND (old.until <> new.until OR old.detail <> new.detail OR old.who <> new.who)) BEGIN
  INSERT INTO history (at, run, kind, value, id, detail, source, who, why, until)
  VALUES (new.latest, 0, 'hold', new.scope, new.id, new.reason, new.source, new.who, new.detail, new.until);
END;
CREATE TRIGGER hold_ended AFTER UPDATE ON hold
  WHEN new.reason <> '' AND new.lifted <> 0 AND (old.lifted = 0 OR old.since <> new.since) BEGIN
  INSERT INTO history (at, run, kind, value, id, detail, source, who)
  VALUES (new.lifted, 0, 'hold_ended', new.scope, new.id, new.reason, new.lifted_by, new.lifted_who);
END;
