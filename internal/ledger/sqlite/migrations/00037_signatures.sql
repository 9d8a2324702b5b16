-- +goose Up
-- What is known of the signatures of webhooks: campaign.Signatures as JSON, in one row.
CREATE TABLE webhook_signatures (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  state TEXT NOT NULL
);
INSERT INTO webhook_signatures (id, state) VALUES (1, '{}');
