import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity';
import { removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import { END_OF_OUTBOX } from '#ledger/outbox/outbox.sql';
import { LANES, type Lane, type Waiting } from './slots';
import type { Webhook } from './webhook.entity';
import { NOTICES } from './webhooks.dto';

/** Seconds from a challenge to the next one. After the third there is none, until the owner asks for it. */
export const CHALLENGE_WAITS = [30, 300, 0];
/** Events with smaller ids were committed before. */
const PRESENT = `lpad(to_hex(${END_OF_OUTBOX}::text::bigint), 12, '0')`;
/**
 * Longer than an attempt and storing its outcome take. If the process is killed, another one tries again after this
 * time.
 */
const LEASE = `interval '30 seconds'`;
const JITTER = '(0.75 + random() / 2)';
/** So many rounds in a row that fail pause a webhook. */
const PAUSED_AFTER = 5;
const DISABLED_AFTER = `interval '3 days'`;
/** Waits of the whole webhook from the second failure on: the first one in seconds, doubled each time up to an hour. */
const WAIT = `least(3600, 10 * 2 ^ least(20, n.failures - 2)) * ${JITTER}`;

/**
 * Columns of a webhook whose URL is new, or that is to send again after it was DISABLED: nothing but the challenge is
 * sent until the server has answered it. For INSERT and UPDATE; call `OutboxPoller.hurry` afterwards.
 */
export const CHALLENGED = {
  status: 'UNVERIFIED',
  challengeTries: 0,
  challengeAskedAt: () => 'now()',
  retryAt: () => 'now()',
  takenUntil: () => `'-infinity'`,
  failures: 0,
  failingSince: null,
  lastError: null,
  isSlow: false,
} as const satisfies QueryDeepPartialEntity<Webhook>;

export interface DueWebhook extends Waiting {
  id: string;
  /** In seconds since 1970. */
  now: number;
}

/**
 * The due webhooks, longest waiting first: the first of each user at each host, without those that can get no slot now
 * (see `Slots.full`). Looks at no more than 5,000 of each lane.
 */
export const DUE_WEBHOOKS = statement<{ full: string[] }, DueWebhook>(
  'due_webhooks',
  { full: 'text[]' },
  `
    SELECT *, date_part('epoch', now()) AS now FROM (
      SELECT DISTINCT ON (lane, owner, host) id, lane, owner, host, date_part('epoch', due_at) AS since FROM (
        SELECT w.* FROM unnest('{${LANES.join()}}'::text[]) AS each (lane) CROSS JOIN LATERAL (
          SELECT id, lane, user_id AS owner, host, due_at
          FROM webhooks WHERE lane = each.lane AND due_at <= now() AND status <> 'DISABLED'
            AND NOT ARRAY[lane || ' user ' || user_id, lane || ' host ' || host] && :full
          ORDER BY due_at, id LIMIT 5000) w
        WHERE each.lane <> ALL (:full)
      ) seen ORDER BY lane, owner, host, due_at, id
    ) first ORDER BY since, id`,
);

export interface ClaimedDelivery {
  id: string;
  webhook: string;
  attempt: number;
  url: string;
  /** All that sign now, the newest first. */
  secrets: string[];
  /** What is sent; null for the challenge. */
  body: string | null;
}

/**
 * The event as it was stored. A notice is nothing but its delivery: `reload` has the id of the first event that was left
 * out, which others may have got.
 */
const BODY = `coalesce(
        (SELECT body FROM webhook_events WHERE id = d.event_id AND d.topic <> ALL ('{${NOTICES.join()}}')),
        (SELECT row_to_json(n) FROM (SELECT d.event_id AS id, d.topic, iso(d.created_at) AS "occurredAt") n)::text)`;

/**
 * Takes webhooks that are due, and of each as many deliveries as `most` says, or the challenge. A webhook whose lane has
 * changed is left for the next look, because its slots are of the lane before. No other process takes the webhooks before
 * they are finished or the lease ends. The next challenge is due from here on, so a process that is killed takes just one
 * with it.
 */
export const CLAIM_DELIVERIES = statement<
  { webhooks: string[]; lanes: Lane[]; most: number[] },
  ClaimedDelivery
>(
  'claim_webhook_deliveries',
  { webhooks: 'uuid[]', lanes: 'text[]', most: 'integer[]' },
  `
    WITH asked AS MATERIALIZED (
      SELECT w.id, w.url, w.status = 'UNVERIFIED' AS is_challenged,
        array_remove(ARRAY[secret, CASE WHEN previous_secret_until > now() THEN previous_secret END], NULL) AS secrets,
        CASE WHEN w.status = 'UNVERIFIED' THEN 0 ELSE a.most END AS most
      FROM unnest(:webhooks, :lanes, :most) a (id, lane, most) JOIN webhooks w ON w.id = a.id AND w.lane = a.lane
      WHERE w.due_at <= now() AND w.status <> 'DISABLED' FOR NO KEY UPDATE OF w SKIP LOCKED
    ), due AS MATERIALIZED (
      SELECT d.id, a.id AS webhook, a.url, a.secrets FROM asked a
      CROSS JOIN LATERAL (
        SELECT id FROM webhook_deliveries
        WHERE webhook_id = a.id AND status = 'PENDING' AND next_attempt_at <= now()
        ORDER BY next_attempt_at LIMIT a.most FOR UPDATE SKIP LOCKED) d
    ), taken AS (
      UPDATE webhooks SET taken_until = now() + ${LEASE}
      WHERE id IN (SELECT webhook FROM due)
    ), challenged AS (
      UPDATE webhooks SET challenge_tries = challenge_tries + 1,
        retry_at = now() + make_interval(secs => (ARRAY[${CHALLENGE_WAITS.join()}])[challenge_tries + 1])
      WHERE id IN (SELECT id FROM asked WHERE is_challenged)
    ), claimed AS (
      UPDATE webhook_deliveries d SET attempts = d.attempts + 1,
        next_attempt_at = now() + ${LEASE}
      FROM due WHERE d.id = due.id
      RETURNING d.id, d.webhook_id AS webhook, d.attempts AS attempt, due.url, due.secrets, ${BODY} AS body
    )
    SELECT * FROM claimed
    UNION ALL SELECT sorted_uuid(), id, 0, url, secrets, NULL FROM asked WHERE is_challenged`,
);

interface Round {
  webhook: string;
  /** Where it was sent: if the owner has changed it since, the outcomes say nothing about the webhook. */
  url: string;
  slow: boolean;
  /** Seconds that the receiver wants to be left alone, null if it did not say. */
  retryAfter: number | null;
  /** Seconds after each attempt that failed until the next. */
  waits: number[];
  /** JSON of deliveries with their `id`, `attempt`, `status` and `error`. */
  outcomes: string;
}

/**
 * Stores the outcomes of the deliveries that were sent to a webhook together, unless a later attempt has begun, and
 * their effect on the webhook, which is due again behind its owner's others. This also holds for PAUSED webhooks: each
 * attempt is a probe.
 */
export const FINISH_DELIVERIES = statement<Round, never>(
  'finish_webhook_deliveries',
  {
    webhook: 'uuid',
    url: 'text',
    slow: 'boolean',
    retryAfter: 'float8',
    waits: 'integer[]',
    outcomes: 'jsonb',
  },
  `
    WITH finished AS (
      UPDATE webhook_deliveries d SET last_status = r.status, last_error = r.error,
        tries = d.tries + CASE WHEN r.error IS NULL THEN 0 ELSE 1 END,
        status = CASE WHEN r.error IS NULL THEN 'DELIVERED'
          WHEN d.status = 'FAILED' OR d.topic = 'test' OR d.tries >= cardinality(:waits) THEN 'FAILED' ELSE 'PENDING' END,
        delivered_at = CASE WHEN r.error IS NULL THEN now() END,
        next_attempt_at = now() + make_interval(secs => coalesce((:waits)[d.tries + 1], 0) * ${JITTER})
      FROM jsonb_to_recordset(:outcomes) AS r (id uuid, attempt integer, status integer, error text)
      WHERE d.id = r.id AND d.attempts = r.attempt AND d.status <> 'DELIVERED'
      RETURNING r.status, r.error
    ), round AS (
      SELECT bool_and(error IS NULL) AS delivered, bool_and(error IS NOT NULL) AS failed, min(error) AS error,
        coalesce(bool_or(status = 410), false) AS gone
      FROM finished HAVING count(*) > 0
    ), next AS (
      SELECT r.error, r.gone, CASE WHEN r.delivered THEN 0 WHEN r.failed THEN w.failures + 1 ELSE 1 END AS failures,
        CASE WHEN r.delivered THEN NULL WHEN r.failed THEN coalesce(w.failing_since, now()) ELSE now() END AS since
      FROM round r JOIN webhooks w ON w.id = :webhook
    )
    UPDATE webhooks w SET failures = n.failures, failing_since = n.since, last_error = n.error, is_slow = :slow,
      taken_until = now(),
      retry_at = greatest(now() + make_interval(secs => :retryAfter),
        CASE WHEN n.failures >= 2 THEN now() + make_interval(secs => ${WAIT}) ELSE '-infinity' END),
      status = CASE
        WHEN n.gone OR n.failures >= ${PAUSED_AFTER} AND n.since <= now() - ${DISABLED_AFTER} THEN 'DISABLED'
        WHEN n.failures >= ${PAUSED_AFTER} THEN 'PAUSED' ELSE 'ACTIVE' END
    FROM next n WHERE w.id = :webhook AND w.url = :url AND w.status IN ('ACTIVE', 'PAUSED')`,
);

/** Events come from now on, if the server has answered and the URL is still the same. */
export const FINISH_CHALLENGE = statement<{ webhook: string; url: string; error: string | null }, never>(
  'finish_webhook_challenge',
  { webhook: 'uuid', url: 'text', error: 'text' },
  `
    UPDATE webhooks SET last_error = :error,
      status = CASE WHEN :error IS NULL THEN 'ACTIVE' ELSE status END,
      retry_at = CASE WHEN :error IS NULL THEN '-infinity' ELSE retry_at END,
      first_event = CASE WHEN :error IS NULL THEN ${PRESENT} ELSE first_event END
    WHERE id = :webhook AND url = :url AND status = 'UNVERIFIED'`,
);

export const REMOVE_OLD_DELIVERIES = removeExpired(
  'webhook_deliveries',
  'created_at',
  `now() - interval '7 days'`,
);

export const REMOVE_OLD_WEBHOOK_EVENTS = removeExpired(
  'webhook_events',
  'created_at',
  `now() - interval '8 days'`,
);
