-- +goose Up
CREATE TABLE opt_in (                     -- when recipients last resumed: an older opt-out that is delivered again does not count
  key   INTEGER NOT NULL,
  scope TEXT    NOT NULL,
  at    INTEGER NOT NULL,
  PRIMARY KEY (key, scope)
) WITHOUT ROWID;
