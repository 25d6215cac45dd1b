-- Receivers of events that users have named, and what is sent to them.

CREATE TABLE webhooks (
  id uuid NOT NULL,
  user_id uuid NOT NULL,
  address text COLLATE "C" NOT NULL,
  -- Limits the webhooks per user: concurrent requests cannot take the same slot.
  slot smallint NOT NULL,
  url text NOT NULL,
  -- Of the URL: users share the requests that one host gets.
  host text COLLATE "C" NOT NULL,
  topics text[],
  secret text NOT NULL,
  -- After a rotation both sign until then.
  previous_secret text,
  previous_secret_until timestamptz(3),
  -- Events with smaller ids were committed before the webhook was active.
  first_event text COLLATE "C" NOT NULL DEFAULT '',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  status text NOT NULL,
  -- Rounds of attempts that failed, in a row and since when, and why the last one did.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz(3),
  last_error text,
  -- The last round took long, also if it succeeded.
  is_slow boolean NOT NULL DEFAULT false,
  -- Where the last round was sent to: names that lead to one network share its requests.
  network text COLLATE "C",
  -- While UNVERIFIED: how often the challenge was sent, and when the owner asked for that.
  challenge_tries smallint NOT NULL DEFAULT 0,
  challenge_asked_at timestamptz(3) NOT NULL DEFAULT '-infinity',
  -- Nothing is sent before.
  retry_at timestamptz(3) NOT NULL DEFAULT '-infinity',
  -- Until then a process sends to it.
  taken_until timestamptz(3) NOT NULL DEFAULT '-infinity',
  -- Derived: deliveries that are PENDING, and when the next of them may be sent, null if there is none.
  pending integer NOT NULL DEFAULT 0,
  next_delivery_at timestamptz(3),
  -- Derived: who shares slots with it, and when the sender has something to do for it, null if never.
  lane text COLLATE "C" NOT NULL DEFAULT 'quick',
  due_at timestamptz(3),
  -- So many were pending that events were left out.
  is_full boolean NOT NULL DEFAULT false,
  -- The first of these.
  left_out text COLLATE "C",
  CONSTRAINT webhooks_pkey PRIMARY KEY (id),
  CONSTRAINT webhooks_slot_key UNIQUE (user_id, slot),
  CONSTRAINT webhooks_slot_check CHECK (slot BETWEEN 1 AND 10),
  CONSTRAINT webhooks_status_check CHECK (status IN ('UNVERIFIED', 'ACTIVE', 'PAUSED', 'DISABLED')),
  CONSTRAINT webhooks_left_out_check CHECK (is_full = (left_out IS NOT NULL)),
  CONSTRAINT webhooks_lane_check CHECK (lane IN ('quick', 'challenge', 'slow')),
  CONSTRAINT webhooks_user_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX webhooks_address_idx ON webhooks (address, id);
CREATE INDEX webhooks_due_at_idx ON webhooks (lane, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhooks_previous_secret_until_idx ON webhooks (previous_secret_until)
  WHERE previous_secret_until IS NOT NULL;
COMMENT ON COLUMN webhooks.topics IS 'null: all';
COMMENT ON TABLE webhooks IS 'Receivers of events that users have named';

CREATE TABLE webhook_events (
  id text COLLATE "C" NOT NULL,
  body text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT webhook_events_pkey PRIMARY KEY (id)
);
CREATE INDEX webhook_events_created_at_idx ON webhook_events (created_at);
COMMENT ON TABLE webhook_events IS 'The events that are in deliveries, each once, as they are sent';

CREATE TABLE webhook_crowds (
  subject text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  topic text NOT NULL,
  address text COLLATE "C" NOT NULL,
  webhook uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT webhook_crowds_pkey PRIMARY KEY (subject, event_id)
) WITH (fillfactor = 50);
CREATE INDEX webhook_crowds_created_at_idx ON webhook_crowds (created_at);
COMMENT ON TABLE webhook_crowds IS
  'An event for more webhooks than are served at once, and the last webhook that it has come to';

-- No foreign key to webhooks: otherwise deleting a webhook would take longer the more was sent to it. Its
-- remaining deliveries are not sent any more, and are removed when they are old enough.
CREATE TABLE webhook_deliveries (
  id uuid NOT NULL DEFAULT sorted_uuid(),
  webhook_id uuid NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  topic text NOT NULL,
  status text NOT NULL DEFAULT 'PENDING',
  attempts integer NOT NULL DEFAULT 0,
  last_status integer,
  last_error text,
  -- Attempts that failed and count: the settings say how many there are.
  tries integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3) NOT NULL DEFAULT now(),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  delivered_at timestamptz(3),
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_deliveries_event_key UNIQUE (webhook_id, event_id),
  CONSTRAINT webhook_deliveries_status_check CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED'))
) WITH (fillfactor = 80);
CREATE INDEX webhook_deliveries_pending_idx ON webhook_deliveries (webhook_id, next_attempt_at)
  WHERE status = 'PENDING';
CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (created_at);
COMMENT ON TABLE webhook_deliveries IS 'What was sent or is to be sent to a webhook, with its attempts';
