-- +goose Up
ALTER TABLE hold ADD COLUMN who text NOT NULL DEFAULT '';         -- the operator who began it; '': somebody else
ALTER TABLE hold ADD COLUMN lifted_who text NOT NULL DEFAULT '';
-- The columns of a hold:
ALTER TABLE history ADD COLUMN source text NOT NULL DEFAULT '';   -- what began or ended it
ALTER TABLE history ADD COLUMN who text NOT NULL DEFAULT '';      -- the operator
ALTER TABLE history ADD COLUMN why text NOT NULL DEFAULT '';      -- a sentence
ALTER TABLE history ADD COLUMN until bigint NOT NULL DEFAULT 0;   -- when it ends by itself; 0: it does not

CREATE OR REPLACE FUNCTION tell_hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.reason = '' THEN
    RETURN NULL;
  END IF;
  -- A hold that begins, that lasts a minute longer or more, or that an operator changed.
  IF TG_OP = 'INSERT' OR NEW.lifted = 0 AND (OLD.lifted <> 0
      OR OLD.since <> NEW.since OR OLD.count <> NEW.count OR NEW.until > OLD.until + 60000
      OR NEW.source = 'operator' AND (OLD.until <> NEW.until OR OLD.detail <> NEW.detail OR OLD.who <> NEW.who)) THEN
    INSERT INTO history (at, run, kind, value, id, detail, source, who, why, until)
    VALUES (NEW.latest, 0, 'hold', NEW.scope, NEW.id, NEW.reason, NEW.source, NEW.who, NEW.detail, NEW.until);
  END IF;
  IF NEW.lifted <> 0 AND (TG_OP = 'INSERT' OR OLD.lifted = 0 OR OLD.since <> NEW.since) THEN
    INSERT INTO history (at, run, kind, value, id, detail, source, who)
    VALUES (NEW.lifted, 0, 'hold_ended', NEW.scope, NEW.id, NEW.reason, NEW.lifted_by, NEW.lifted_who);
  END IF;
  RETURN NULL;
END $$;
