import { type ExpiryParameters, type ExpiryResult, removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';

/** Attempts continue for this long after the first one; the last attempt is at the end of this time. */
const SENT_FOR = `interval '1 day'`;
const FIRST_WAIT = `interval '10 seconds'`;
const JITTER = '(0.75 + random() / 2)';

/** The next webhooks after the given one that have something waiting, and whether it is due. */
export const WAITING_WEBHOOKS = statement<{ after: string; most: number }, { id: string; due: boolean }>(
  'waiting_webhooks',
  { after: 'uuid', most: 'integer' },
  `
    WITH RECURSIVE waiting AS (
      (SELECT webhook_id, next_attempt_at, 1 AS n FROM webhook_deliveries
        WHERE status = 'PENDING' AND webhook_id > :after ORDER BY webhook_id, next_attempt_at LIMIT 1)
      UNION ALL
      SELECT d.webhook_id, d.next_attempt_at, w.n + 1 FROM waiting w
      CROSS JOIN LATERAL (
        SELECT webhook_id, next_attempt_at FROM webhook_deliveries
        WHERE status = 'PENDING' AND webhook_id > w.webhook_id ORDER BY webhook_id, next_attempt_at LIMIT 1) d
      WHERE w.n < :most
    )
    SELECT webhook_id AS id, next_attempt_at <= now() AS due FROM waiting`,
);

export interface ClaimedDelivery {
  id: string;
  webhook: string;
  attempt: number;
  body: string;
  url: string;
  secret: string;
}

/**
 * Takes due deliveries of some webhooks, at most `each` of one webhook and `most` together. No other process takes them
 * before the lease ends, nor afterwards if they have been finished. Also removes some deliveries of deleted webhooks.
 */
export const CLAIM_DELIVERIES = statement<
  { webhooks: string[]; each: number; most: number; leaseSeconds: number },
  ClaimedDelivery
>(
  'claim_webhook_deliveries',
  { webhooks: 'uuid[]', each: 'integer', most: 'integer', leaseSeconds: 'float8' },
  `
    WITH asked AS MATERIALIZED (
      SELECT a.id, w.url, w.secret FROM unnest(:webhooks) a(id) LEFT JOIN webhooks w ON w.id = a.id
    ), orphans AS (
      DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
        SELECT d.id FROM asked a
        CROSS JOIN LATERAL (
          SELECT id FROM webhook_deliveries WHERE webhook_id = a.id AND status = 'PENDING' LIMIT 100) d
        WHERE a.url IS NULL))
    ), due AS (
      SELECT d.id, a.url, a.secret FROM asked a
      CROSS JOIN LATERAL (
        SELECT id FROM webhook_deliveries
        WHERE webhook_id = a.id AND status = 'PENDING' AND next_attempt_at <= now()
        ORDER BY next_attempt_at LIMIT :each FOR UPDATE SKIP LOCKED) d
      WHERE a.url IS NOT NULL LIMIT :most
    )
    UPDATE webhook_deliveries d SET attempts = d.attempts + 1, first_attempt_at = coalesce(d.first_attempt_at, now()),
      next_attempt_at = now() + make_interval(secs => :leaseSeconds)
    FROM due WHERE d.id = due.id
    RETURNING d.id, d.webhook_id AS webhook, d.attempts AS attempt, due.url, due.secret,
      (SELECT body FROM webhook_events WHERE id = d.event_id) AS body`,
);

/**
 * Stores the outcome of an attempt, unless a later attempt has begun. After a failure the next wait is about as long as
 * the time since the first attempt, so waits double until the day is over.
 */
export const FINISH_DELIVERY = statement<
  { id: string; attempt: number; status: number | null; error: string | null },
  never
>(
  'finish_webhook_delivery',
  { id: 'uuid', attempt: 'integer', status: 'integer', error: 'text' },
  `
    UPDATE webhook_deliveries d SET last_status = :status, last_error = :error,
      status = CASE WHEN :error IS NULL THEN 'DELIVERED' WHEN now() >= first_attempt_at + ${SENT_FOR} THEN 'FAILED'
        ELSE 'PENDING' END,
      delivered_at = CASE WHEN :error IS NULL THEN now() END,
      next_attempt_at = least(now() + greatest(${FIRST_WAIT}, now() - first_attempt_at) * ${JITTER},
        greatest(first_attempt_at + ${SENT_FOR}, now() + ${FIRST_WAIT}))
    WHERE id = :id AND attempts = :attempt AND d.status = 'PENDING' AND first_attempt_at IS NOT NULL`,
);

export const REMOVE_OLD_DELIVERIES = statement<ExpiryParameters, ExpiryResult>(
  'remove_old_webhook_deliveries',
  { after: 'timestamptz', batch: 'integer' },
  removeExpired('webhook_deliveries', 'created_at', `now() - interval '7 days'`),
);

export const REMOVE_OLD_WEBHOOK_EVENTS = statement<ExpiryParameters, ExpiryResult>(
  'remove_old_webhook_events',
  { after: 'timestamptz', batch: 'integer' },
  removeExpired('webhook_events', 'created_at', `now() - interval '8 days'`),
);
