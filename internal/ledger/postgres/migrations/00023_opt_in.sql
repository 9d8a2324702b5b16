-- +goose Up
CREATE TABLE opt_in (                     -- when recipients last resumed: an older opt-out that is delivered again does not count
  key   bigint NOT NULL,
  scope text   COLLATE "C" NOT NULL,
  at    bigint NOT NULL,
  PRIMARY KEY (key, scope)
);
