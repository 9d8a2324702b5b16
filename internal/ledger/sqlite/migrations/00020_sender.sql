-- +goose Up
CREATE TABLE sender (                     -- which connections reached a recipient, for campaigns with numbers: sticky
  key        INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  at         INTEGER NOT NULL,            -- when the last message over it was accepted
  PRIMARY KEY (key, connection)
) WITHOUT ROWID;
-- The import has bound the segment to its connection.
ALTER TABLE segment ADD COLUMN bound INTEGER NOT NULL DEFAULT 0;
-- Its messages are in the table sender; they are final.
ALTER TABLE segment ADD COLUMN folded INTEGER NOT NULL DEFAULT 0;
