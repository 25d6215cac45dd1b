import { removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import { RELOAD } from '#ledger/outbox/ledger-event';
import { type Audience, readersOfPool } from '#extensions/events/readers.sql';

/** Webhooks of each event that get it at once, beside those of its account, of which a user has ten at most. */
const EACH = 10;
/** Webhooks that the events of one statement for crowds share. */
const CROWD_WEBHOOKS = 200;

/** The subject of events that are for everyone. Those of a pool have its id. */
export const EVERYONE = 'all';

/** So many deliveries of a webhook may be pending. When half of them are left, the trigger lets events come again. */
export const MOST_PENDING = 1000;

/**
 * The next webhooks of an event `e`, by address and id, after the last one that it has reached: those of a pool's
 * readers, or all. Reads no more than `limit`.
 */
const next = (limit: number | string): string => `
  (SELECT w.address, w.id FROM (
      SELECT r.address FROM (${readersOfPool('e.pool')}) r
      WHERE r.address >= e.address ORDER BY r.address OFFSET 0) r
    CROSS JOIN LATERAL (
      SELECT address, id FROM webhooks WHERE address = r.address AND (address, id) > (e.address, e.webhook)
      ORDER BY address, id OFFSET 0) w
    ORDER BY r.address, w.id LIMIT ${limit})
  UNION ALL
  (SELECT address, id FROM webhooks WHERE e."isForAll" AND (address, id) > (e.address, e.webhook)
    ORDER BY address, id LIMIT ${limit})`;

/** The last webhook of each event in `crowd`, and how many there are. */
const LAST_OF_CROWD = `
  SELECT DISTINCT ON (event) event, address, webhook, count(*) OVER (PARTITION BY event)::integer AS n FROM crowd
  ORDER BY event, address DESC, webhook DESC`;

/**
 * Makes deliveries for the webhooks in `seen` that want the events there. Existing ones stay. Of a webhook that has no
 * room, the first event that is left out is stored. CTEs are never joined with each other: without hash and merge joins
 * (see `namedStatementSettings`) that costs rows times rows.
 *
 * Webhooks are locked in one order by all, and before their room is counted, so processes neither block each other for
 * good nor exceed it together. Those that are full already need no lock: what is left out was committed before the end of
 * the overflow, and the `reload` comes after that.
 */
const DELIVER = `
  wanted AS MATERIALIZED (
    SELECT s.event, s.topic, w.id AS webhook, w.pending FROM seen s JOIN webhooks w ON w.id = s.webhook
    WHERE w.status IN ('ACTIVE', 'PAUSED') AND NOT w.is_full AND s.event >= w.first_event
      AND (w.topics IS NULL OR s.topic = '${RELOAD}' OR s.topic = ANY(w.topics))
    ORDER BY w.id, s.event FOR NO KEY UPDATE OF w
  ), counted AS MATERIALIZED (
    SELECT *, pending + row_number() OVER (PARTITION BY webhook ORDER BY event) <= ${MOST_PENDING} AS has_room
    FROM wanted
  ), added AS (
    INSERT INTO webhook_deliveries (webhook_id, event_id, topic)
    SELECT webhook, event, topic FROM counted WHERE has_room ORDER BY webhook, event
    ON CONFLICT ON CONSTRAINT webhook_deliveries_event_key DO NOTHING
  ), overflows AS (
    UPDATE webhooks w SET is_full = true, left_out = o.event FROM (
      SELECT webhook, min(event) AS event FROM counted c
      WHERE NOT has_room AND NOT EXISTS (
        SELECT FROM webhook_deliveries d WHERE d.webhook_id = c.webhook AND d.event_id = c.event)
      GROUP BY webhook) o
    WHERE w.id = o.webhook
  )`;

/** An event as it is sent, and who may read it. */
export type FannedOut = { id: string; topic: string; body: string } & Audience;

/**
 * Creates a delivery of each event for each webhook that wants it and whose owner may read it: those of its account,
 * and some others. What has more goes on in `webhook_crowds`.
 * @param events JSON of FannedOut[]
 */
export const FAN_OUT = statement<{ events: string }, { crowds: number }>(
  'fan_out_to_webhooks',
  { events: 'jsonb' },
  `
    WITH start AS MATERIALIZED (
      SELECT ''::text COLLATE "C" AS address, '00000000-0000-0000-0000-000000000000'::uuid AS webhook
    ), events AS MATERIALIZED (
      SELECT e.*, s.address, s.webhook FROM start s
      CROSS JOIN jsonb_to_recordset(:events)
        AS e (id text, topic text, body text, "isForAll" boolean, pool uuid, account text)
      WHERE EXISTS (SELECT FROM webhooks)
    ), crowd AS MATERIALIZED (
      SELECT e.id AS event, e.topic, w.address, w.id AS webhook FROM events e
      CROSS JOIN LATERAL (${next(EACH)}) w
    ), seen AS (
      SELECT event, topic, webhook FROM crowd
      UNION SELECT e.id, e.topic, w.id FROM events e
      CROSS JOIN LATERAL (SELECT id FROM webhooks WHERE address = e.account OFFSET 0) w
    ), ${DELIVER}, crowds AS (
      INSERT INTO webhook_crowds (subject, event_id, topic, address, webhook)
      SELECT coalesce(e.pool::text, '${EVERYONE}'), e.id, e.topic, c.address, c.webhook
      FROM (${LAST_OF_CROWD}) c JOIN events e ON e.id = c.event WHERE c.n = ${EACH}
      ON CONFLICT ON CONSTRAINT webhook_crowds_pkey DO NOTHING RETURNING event_id
    ), bodies AS (
      INSERT INTO webhook_events (id, body) SELECT id, body FROM events
      WHERE id = ANY (ARRAY(
        SELECT DISTINCT event FROM counted WHERE has_room UNION SELECT event_id FROM crowds))
      ON CONFLICT ON CONSTRAINT webhook_events_pkey DO NOTHING
    )
    SELECT count(*)::integer AS crowds FROM crowds`,
);

/** The subject after one, in a circle. */
export const NEXT_CROWD = statement<{ after: string }, { subject: string }>(
  'next_webhook_crowd',
  { after: 'text' },
  `
    (SELECT subject FROM webhook_crowds WHERE subject > :after ORDER BY subject LIMIT 1)
    UNION ALL (SELECT subject FROM webhook_crowds ORDER BY subject LIMIT 1) LIMIT 1`,
);

/** Goes on with a subject's first events, from where each has come to. Leaves out what another process is at. */
export const FAN_OUT_TO_CROWD = statement<{ subject: string; events: number }, { taken: number }>(
  'fan_out_to_crowd',
  { subject: 'text', events: 'integer' },
  `
    WITH taken AS MATERIALIZED (
      SELECT * FROM webhook_crowds WHERE subject = :subject ORDER BY event_id LIMIT :events FOR UPDATE SKIP LOCKED
    ), share AS MATERIALIZED (
      SELECT ${CROWD_WEBHOOKS} / greatest(1, count(*)) AS most FROM taken
    ), crowd AS MATERIALIZED (
      SELECT e.event_id AS event, e.topic, w.address, w.id AS webhook FROM (
        SELECT *, CASE WHEN subject <> '${EVERYONE}' THEN subject::uuid END AS pool, subject = '${EVERYONE}' AS "isForAll"
        FROM taken OFFSET 0) e
      CROSS JOIN LATERAL (${next('(SELECT most FROM share)')}) w
    ), seen AS (
      SELECT event, topic, webhook FROM crowd
    ), ${DELIVER}, last AS MATERIALIZED (
      SELECT t.subject, t.event_id, c.address, c.webhook, coalesce(c.n, 0) < (SELECT most FROM share) AS ends
      FROM taken t LEFT JOIN (${LAST_OF_CROWD}) c ON c.event = t.event_id
    ), moved AS (
      UPDATE webhook_crowds c SET address = last.address, webhook = last.webhook FROM last
      WHERE c.subject = last.subject AND c.event_id = last.event_id AND NOT last.ends
    ), ended AS (
      DELETE FROM webhook_crowds c USING last
      WHERE c.subject = last.subject AND c.event_id = last.event_id AND last.ends
    )
    SELECT count(*)::integer AS taken FROM taken`,
);

/** Bodies are kept for longer, so that all that is made of them has one. */
export const REMOVE_OLD_CROWDS = removeExpired('webhook_crowds', 'created_at', `now() - interval '1 day'`);
