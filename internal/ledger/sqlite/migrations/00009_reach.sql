-- +goose Up
CREATE TABLE portfolio (                  -- what shares a tier; docs/limits.md#tier
  id    TEXT    PRIMARY KEY,
  taken INTEGER NOT NULL                  -- its rows in reach
) WITHOUT ROWID;
CREATE TABLE reach (                      -- the places of a tier: whom a portfolio has reached in 24 hours
  key       INTEGER NOT NULL,
  portfolio TEXT    NOT NULL,
  at        INTEGER NOT NULL,             -- of the last intent
  rid       INTEGER NOT NULL,             -- the delivery whose refusal returns the place; 0: none, others used it too
  PRIMARY KEY (key, portfolio)
) WITHOUT ROWID;
CREATE INDEX reach_at ON reach (portfolio, at);

CREATE TABLE inbound (                    -- the last message of a recipient, which opens a service window
  key        INTEGER NOT NULL,
  connection TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (key, connection)
) WITHOUT ROWID;
CREATE INDEX inbound_at ON inbound (at);

CREATE TABLE contact (                    -- messages that count for the pair limit and for frequency caps
  key        INTEGER NOT NULL,
  rid        INTEGER NOT NULL,
  at         INTEGER NOT NULL,            -- of the intent
  until      INTEGER NOT NULL,            -- the row is kept until then
  connection TEXT    NOT NULL,
  capped     INTEGER NOT NULL,            -- its run has a frequency cap
  PRIMARY KEY (key, rid)
) WITHOUT ROWID;
CREATE INDEX contact_until ON contact (until);
