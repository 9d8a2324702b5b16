-- +goose Up
CREATE TABLE sender (                     -- which connections reached a recipient, for campaigns with numbers: sticky
  key        bigint NOT NULL,
  connection text   COLLATE "C" NOT NULL,
  at         bigint NOT NULL,             -- when the last message over it was accepted
  PRIMARY KEY (key, connection)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);
-- The import has bound the segment to its connection.
ALTER TABLE segment ADD COLUMN bound boolean NOT NULL DEFAULT false;
-- Its messages are in the table sender; they are final.
ALTER TABLE segment ADD COLUMN folded boolean NOT NULL DEFAULT false;
