-- +goose Up
CREATE TABLE first_receipt (              -- when events came first that lift something and whose own time was then to come
  key  INTEGER NOT NULL,                  -- of the recipient who resumed; 0: an event that ends holds
  what TEXT    NOT NULL,                  -- what it lifts: a scope of suppressions, or scope and id of holds
  own  INTEGER NOT NULL,                  -- the event's own time
  at   INTEGER NOT NULL,
  PRIMARY KEY (key, what, own)
) WITHOUT ROWID;
CREATE INDEX first_receipt_at ON first_receipt (at);

ALTER TABLE inbound ADD COLUMN own INTEGER NOT NULL DEFAULT 0; -- the message's own time; at may be the earlier receipt
