-- +goose Up
-- Half of a page stays free for the versions that the three statuses of a message make, so that
-- they stay in the page: heap-only updates, which touch no index. With 30 % free, up to a fifth of
-- them went to other pages. Pages that exist keep what they have.
ALTER TABLE outcome SET (fillfactor = 50);

-- Notes that statuses changed outcomes of a segment: the time of the last one in its run, unless it
-- is newer than before, and the segment among those that changed. It is false, for use in WHERE.
CREATE FUNCTION touch_segment(id bigint, now bigint, before bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
  UPDATE run_event SET event_at = now WHERE no = id >> 32 AND event_at < before;
  INSERT INTO changed (segment, at) SELECT id, now WHERE NOT EXISTS (SELECT 1 FROM changed c WHERE c.segment = id);
  RETURN false;
END $$;
