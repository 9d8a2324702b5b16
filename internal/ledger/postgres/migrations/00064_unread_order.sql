-- +goose Up Orders that count are asked for again from time to time, because the platform may have
-- removed one.
ALTER TABLE purchase ADD COLUMN asked_at BIGINT NOT NULL DEFAULT 0; -- when that was planned last
CREATE INDEX purchase_asked ON purchase (asked_at) WHERE ended = 0;

CREATE TABLE unread_order (               -- orders that the platform gave in no readable form
  id TEXT    PRIMARY KEY,                 -- '': of orders without an id
  at BIGINT  NOT NULL                      -- when that was last
);
