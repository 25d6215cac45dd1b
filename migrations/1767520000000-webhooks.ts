import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Half of what may be pending for a webhook: MOST_PENDING of the fan-out. */
const HALF = 500;

/** How often a server is asked for the challenge until its owner asks again. */
const CHALLENGES = 3;

/** Receivers of events that users have named, and what is sent to them. */
export class Webhooks1767520000000 implements MigrationInterface {
  name = 'Webhooks1767520000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
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

      -- The events that are in deliveries, each once, as they are sent.
      CREATE TABLE webhook_events (
        id text COLLATE "C" NOT NULL,
        body text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT webhook_events_pkey PRIMARY KEY (id)
      );
      CREATE INDEX webhook_events_created_at_idx ON webhook_events (created_at);

      -- An event for more webhooks than are served at once, and the last webhook that it has come to.
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

      -- UUIDv7: rows that are made together stand together in the index.
      CREATE FUNCTION sorted_uuid() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
        SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING
          substring(int8send((extract(epoch FROM statement_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
      $$;

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

      -- Keeps webhooks.lane and due_at, which follow from the rest of the row.
      CREATE FUNCTION webhooks_derived() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.lane := CASE
          WHEN NEW.status = 'UNVERIFIED' THEN 'challenge'
          WHEN NEW.status = 'ACTIVE' AND NEW.failures = 0 AND NOT NEW.is_slow THEN 'quick'
          ELSE 'slow' END;
        NEW.due_at := CASE NEW.status
          WHEN 'UNVERIFIED' THEN CASE WHEN NEW.challenge_tries < ${CHALLENGES} THEN NEW.retry_at END
          -- What is pending becomes FAILED.
          WHEN 'DISABLED' THEN CASE WHEN NEW.pending > 0 THEN NEW.taken_until END
          ELSE CASE WHEN NEW.next_delivery_at IS NOT NULL
            THEN greatest(NEW.retry_at, NEW.taken_until, NEW.next_delivery_at) END END;
        RETURN NEW;
      END $$;
      CREATE TRIGGER webhooks_derived BEFORE INSERT OR UPDATE ON webhooks
        FOR EACH ROW EXECUTE FUNCTION webhooks_derived();

      -- Owners are told, whoever changes the status.
      CREATE FUNCTION publish_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO outbox (count, items) VALUES (1, json_build_array(json_strip_nulls(json_build_object(
          'topic', CASE NEW.status WHEN 'PAUSED' THEN 'webhook.paused' WHEN 'DISABLED' THEN 'webhook.disabled'
            ELSE 'webhook.resumed' END,
          'occurredAt', iso(clock_timestamp()), 'account', NEW.address, 'webhookId', NEW.id,
          'reason', CASE WHEN NEW.status <> 'ACTIVE' THEN coalesce(NEW.last_error, 'disabled by its owner') END))));
        RETURN NULL;
      END $$;
      CREATE TRIGGER publish_webhooks AFTER UPDATE OF status ON webhooks FOR EACH ROW
        WHEN (NEW.status <> OLD.status AND (NEW.status IN ('PAUSED', 'DISABLED')
          OR NEW.status = 'ACTIVE' AND OLD.status = 'PAUSED'))
        EXECUTE FUNCTION publish_webhooks();

      -- Keeps webhooks.pending and next_delivery_at. A trigger, so that no writer can forget them.
      CREATE FUNCTION webhook_deliveries_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        changed uuid[];
        changes integer[];
        has_emptied boolean;
      BEGIN
        IF TG_OP = 'INSERT' THEN
          SELECT array_agg(webhook_id), array_agg(n) INTO changed, changes FROM (
            SELECT webhook_id, count(*) FILTER (WHERE status = 'PENDING')::integer AS n FROM added GROUP BY webhook_id) c;
        ELSIF TG_OP = 'DELETE' THEN
          SELECT array_agg(webhook_id), array_agg(n) INTO changed, changes FROM (
            SELECT webhook_id, -count(*)::integer AS n FROM removed WHERE status = 'PENDING' GROUP BY webhook_id) c;
        ELSE
          SELECT array_agg(webhook_id), array_agg(n) INTO changed, changes FROM (
            SELECT webhook_id, sum(n)::integer AS n FROM (
              SELECT webhook_id, (status = 'PENDING')::integer AS n FROM added
              UNION ALL SELECT webhook_id, -(status = 'PENDING')::integer FROM removed
            ) rows GROUP BY webhook_id) c;
        END IF;
        -- In one order in all transactions. The locks are taken before the next delivery is looked up, so that it is of
        -- all that is committed.
        PERFORM FROM webhooks WHERE id = ANY(changed) ORDER BY id FOR NO KEY UPDATE;
        WITH stored AS (
          UPDATE webhooks w SET pending = w.pending + c.n, next_delivery_at = (
            SELECT d.next_attempt_at FROM webhook_deliveries d
            WHERE d.webhook_id = w.id AND d.status = 'PENDING' ORDER BY d.next_attempt_at LIMIT 1)
          FROM unnest(changed, changes) AS c (id, n) WHERE w.id = c.id
          RETURNING w.is_full AND w.pending <= ${HALF} AS has_emptied
        )
        SELECT bool_or(s.has_emptied) INTO has_emptied FROM stored s;
        -- Events come again. The notice is made now and not when the first one was left out, so that whoever reads
        -- everything anew when it comes has missed none.
        IF has_emptied THEN
          WITH emptied AS (
            SELECT id, left_out FROM webhooks WHERE id = ANY(changed) AND is_full AND pending <= ${HALF}
          ), opened AS (
            UPDATE webhooks w SET is_full = false, left_out = NULL FROM emptied e WHERE w.id = e.id
          )
          INSERT INTO webhook_deliveries (webhook_id, event_id, topic) SELECT id, left_out, 'reload' FROM emptied
          ON CONFLICT ON CONSTRAINT webhook_deliveries_event_key DO NOTHING;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER webhook_deliveries_inserted AFTER INSERT ON webhook_deliveries
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
      CREATE TRIGGER webhook_deliveries_updated AFTER UPDATE ON webhook_deliveries
        REFERENCING NEW TABLE AS added OLD TABLE AS removed
        FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
      CREATE TRIGGER webhook_deliveries_deleted AFTER DELETE ON webhook_deliveries
        REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE webhook_deliveries, webhook_crowds, webhook_events, webhooks;
      DROP FUNCTION webhook_deliveries_changed, sorted_uuid, webhooks_derived, publish_webhooks;
      -- Otherwise the version before would stop ahead of them.
      DELETE FROM outbox WHERE items -> 0 ->> 'topic' LIKE 'webhook.%';
    `);
  }
}
