-- +goose Up
CREATE TABLE summary (                    -- what the rows of a segment add up to, counted once
  segment    bigint PRIMARY KEY,
  token      bigint NOT NULL,             -- 0: counted; otherwise that of the process which counts it, or -1
  mark       bigint NOT NULL DEFAULT 0,   -- as it was when the rows were counted, as hi and connection
  hi         bigint NOT NULL DEFAULT 0,
  connection text   NOT NULL DEFAULT '',
  counts     text   NOT NULL DEFAULT '',  -- JSON of []ledger.Group; '': never counted
  course     text   NOT NULL DEFAULT ''   -- JSON of ledger.Course
) WITH (fillfactor = 70);
-- Those that a process was counting when it ended, beside those that are being counted.
CREATE INDEX summary_counting ON summary (segment) WHERE token <> 0;
-- A segment whose outcomes may have changed since they were counted. Each transaction that changes
-- outcomes adds it; the process that counts removes it first. The index is not unique, so that no
-- transaction waits for another one.
CREATE TABLE changed (
  segment bigint NOT NULL,
  at      bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX changed_segment ON changed (segment);
INSERT INTO changed (segment, at) SELECT id, 0 FROM segment;

CREATE TABLE summary_state (              -- one row
  one     int     PRIMARY KEY CHECK (one = 1),
  trusted boolean NOT NULL                -- only programs that add to changed have written outcomes
);
INSERT INTO summary_state (one, trusted) VALUES (1, true);
-- A session that does not say that it adds to changed is of an older program, or of a person.
CREATE FUNCTION distrust_summaries() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE summary_state SET trusted = false WHERE trusted;
  RETURN NULL;
END $$;
CREATE TRIGGER outcome_changed AFTER INSERT OR UPDATE OR DELETE ON outcome FOR EACH STATEMENT
  WHEN (current_setting('campaignd.changed', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION distrust_summaries();
