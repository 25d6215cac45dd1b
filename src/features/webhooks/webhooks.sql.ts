import { statement } from '#platform/postgres/statement';
import { END_OF_OUTBOX } from '#ledger/outbox/outbox.sql';

/** Per user. The table's constraint on `slot` has the same limit. */
export const MAX_WEBHOOKS = 10;

const WEBHOOK = `
  'id', w.id, 'url', w.url, 'topics', to_json(w.topics), 'createdAt', iso(w.created_at)`;

export interface NewWebhook {
  id: string;
  user: string;
  address: string;
  url: string;
  topics: string[] | null;
  secret: string;
}

/** `data` is null if no slot was free (`full`), or if another request took the free one. */
export const CREATE_WEBHOOK = statement<NewWebhook, { full: boolean; data: string | null }>(
  'create_webhook',
  { id: 'uuid', user: 'uuid', address: 'text', url: 'text', topics: 'text[]', secret: 'text' },
  `
    WITH free AS (
      SELECT slot FROM generate_series(1, ${MAX_WEBHOOKS}) slot
      WHERE NOT EXISTS (SELECT FROM webhooks w WHERE w.user_id = :user AND w.slot = slot.slot)
      ORDER BY slot LIMIT 1
    ), w AS (
      INSERT INTO webhooks (id, user_id, address, slot, url, topics, secret, first_event)
      SELECT :id, :user, :address, free.slot, :url, :topics, :secret,
        lpad(to_hex(${END_OF_OUTBOX}::text::bigint), 12, '0') FROM free
      ON CONFLICT ON CONSTRAINT webhooks_slot_key DO NOTHING RETURNING *
    )
    SELECT NOT EXISTS (SELECT FROM free) AS full,
      (SELECT json_build_object(${WEBHOOK}, 'secret', w.secret)::text FROM w) AS data`,
);

/** Newest first. */
export const LIST_WEBHOOKS = statement<
  { user: string; limit: number; offset: number },
  { total: number; data: string }
>(
  'list_webhooks',
  { user: 'uuid', limit: 'bigint', offset: 'bigint' },
  `
    SELECT (SELECT count(*)::int FROM webhooks WHERE user_id = :user) AS total,
      coalesce(json_agg(json_build_object(${WEBHOOK}) ORDER BY w.id DESC), '[]')::text AS data
    FROM (SELECT * FROM webhooks WHERE user_id = :user ORDER BY id DESC LIMIT :limit OFFSET :offset) w`,
);

export const DELETE_WEBHOOK = statement<{ user: string; webhook: string }, { data: string }>(
  'delete_webhook',
  { user: 'uuid', webhook: 'uuid' },
  `
    DELETE FROM webhooks w WHERE id = :webhook AND user_id = :user
    RETURNING json_build_object('id', w.id)::text AS data`,
);

const DELIVERY = `
  'id', d.id, 'eventId', d.event_id, 'topic', d.topic, 'status', d.status, 'attempts', d.attempts,
  'lastStatus', d.last_status, 'lastError', d.last_error,
  'nextAttemptAt', CASE d.status WHEN 'PENDING' THEN iso(d.next_attempt_at) END,
  'createdAt', iso(d.created_at), 'deliveredAt', iso(d.delivered_at)`;

/** Newest event first. No row: the user has no such webhook. */
export const LIST_DELIVERIES = statement<
  { user: string; webhook: string; limit: number; offset: number },
  { total: number; data: string }
>(
  'list_webhook_deliveries',
  { user: 'uuid', webhook: 'uuid', limit: 'bigint', offset: 'bigint' },
  `
    SELECT (SELECT count(*)::int FROM webhook_deliveries WHERE webhook_id = w.id) AS total,
      (SELECT coalesce(json_agg(json_build_object(${DELIVERY}) ORDER BY d.event_id DESC), '[]')::text
        FROM (
          SELECT * FROM webhook_deliveries WHERE webhook_id = w.id ORDER BY event_id DESC LIMIT :limit OFFSET :offset
        ) d) AS data
    FROM webhooks w WHERE w.id = :webhook AND w.user_id = :user`,
);

/** Sends a delivery again at once and restarts its day. The number of attempts continues. */
export const RETRY_DELIVERY = statement<
  { user: string; webhook: string; delivery: string },
  { data: string }
>(
  'retry_webhook_delivery',
  { user: 'uuid', webhook: 'uuid', delivery: 'uuid' },
  `
    UPDATE webhook_deliveries d
    SET status = 'PENDING', next_attempt_at = now(), first_attempt_at = NULL, delivered_at = NULL
    FROM webhooks w
    WHERE w.id = :webhook AND w.user_id = :user AND d.id = :delivery AND d.webhook_id = w.id
    RETURNING json_build_object(${DELIVERY})::text AS data`,
);
