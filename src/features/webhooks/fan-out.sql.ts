import { statement } from '#platform/postgres/statement';
import { readersOfPool } from '#features/events/readers.sql';

interface FanOut {
  ids: string[];
  topics: string[];
  bodies: string[];
  /** Who may read each: everyone, the readers of a pool, an account. */
  areForAll: boolean[];
  pools: (string | null)[];
  accounts: (string | null)[];
}

/** Creates a delivery of each event for each webhook that wants it and whose owner may read it. Existing ones stay. */
export const FAN_OUT = statement<FanOut, never>(
  'fan_out_to_webhooks',
  {
    ids: 'text[]',
    topics: 'text[]',
    bodies: 'text[]',
    areForAll: 'boolean[]',
    pools: 'uuid[]',
    accounts: 'text[]',
  },
  `
    WITH events AS MATERIALIZED (
      SELECT * FROM unnest(:ids, :topics, :bodies, :areForAll, :pools, :accounts)
        AS e (id, topic, body, is_for_all, pool, account)
      WHERE EXISTS (SELECT FROM webhooks)
    ), readers AS (
      SELECT e.id, r.address FROM events e CROSS JOIN LATERAL (${readersOfPool('e.pool')}) r
      UNION SELECT id, account FROM events WHERE account IS NOT NULL
    ), targets AS (
      SELECT r.id, w.id AS webhook, w.topics, w.first_event FROM readers r
      CROSS JOIN LATERAL (SELECT * FROM webhooks WHERE address = r.address AND status IN ('ACTIVE', 'PAUSED') OFFSET 0) w
      UNION
      SELECT e.id, w.id, w.topics, w.first_event FROM events e
      CROSS JOIN LATERAL (SELECT * FROM webhooks WHERE e.is_for_all AND address > '' AND status IN ('ACTIVE', 'PAUSED') OFFSET 0) w
    ), wanted AS MATERIALIZED (
      SELECT t.webhook, e.* FROM events e JOIN targets t ON t.id = e.id
      WHERE e.id >= t.first_event AND (t.topics IS NULL OR e.topic = ANY(t.topics))
    ), bodies AS (
      INSERT INTO webhook_events (id, body) SELECT DISTINCT id, body FROM wanted
      ON CONFLICT ON CONSTRAINT webhook_events_pkey DO NOTHING
    )
    INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic)
    SELECT gen_random_uuid(), webhook, id, topic FROM wanted
    ON CONFLICT ON CONSTRAINT webhook_deliveries_event_key DO NOTHING`,
);
