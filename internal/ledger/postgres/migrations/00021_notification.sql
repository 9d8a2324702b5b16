-- +goose Up
CREATE TABLE notification (               -- what destinations are told of
  no          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id          text   COLLATE "C" NOT NULL DEFAULT 'ntf_' || replace(gen_random_uuid()::text, '-', ''),
  destination text   COLLATE "C" NOT NULL,
  kind        text   NOT NULL,
  run         bigint NOT NULL,            -- 0: none
  campaign    text   COLLATE "C" NOT NULL,
  subject     text   NOT NULL,
  reason      text   NOT NULL,
  detail      text   NOT NULL,
  at          bigint NOT NULL,
  state       text   NOT NULL,
  attempts    bigint NOT NULL DEFAULT 0,
  since       bigint NOT NULL,            -- when its tries began
  next_at     bigint NOT NULL,            -- when it is looked after
  error       text   NOT NULL DEFAULT '',
  body        text   NOT NULL DEFAULT ''  -- as it is sent; '': not tried yet
);
CREATE INDEX notification_due ON notification (destination, next_at) WHERE state IN ('waiting', 'pending');
CREATE INDEX notification_old ON notification (since) WHERE state IN ('sent', 'dead');
