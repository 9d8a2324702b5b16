-- +goose Up
CREATE TABLE portfolio (                  -- what shares a tier; docs/limits.md#tier
  id    text   COLLATE "C" PRIMARY KEY,
  taken bigint NOT NULL                   -- its rows in reach
) WITH (fillfactor = 50);
CREATE TABLE reach (                      -- the places of a tier: whom a portfolio has reached in 24 hours
  key       bigint NOT NULL,
  rid       bigint NOT NULL,              -- the delivery whose refusal returns the place; 0: none, others used it too
  at        bigint NOT NULL,              -- of the last intent
  portfolio text   COLLATE "C" NOT NULL,
  PRIMARY KEY (key, portfolio)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX reach_at ON reach (portfolio, at);

CREATE TABLE inbound (                    -- the last message of a recipient, which opens a service window
  key        bigint NOT NULL,
  at         bigint NOT NULL,
  connection text   COLLATE "C" NOT NULL,
  PRIMARY KEY (key, connection)
);
CREATE INDEX inbound_at ON inbound (at);

CREATE TABLE contact (                    -- messages that count for the pair limit and for frequency caps
  key        bigint  NOT NULL,
  rid        bigint  NOT NULL,
  at         bigint  NOT NULL,            -- of the intent
  until      bigint  NOT NULL,            -- the row is kept until then
  capped     boolean NOT NULL,            -- its run has a frequency cap
  connection text    COLLATE "C" NOT NULL,
  PRIMARY KEY (key, rid)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX contact_until ON contact (until);
