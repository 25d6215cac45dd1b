import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity';
import { statement } from '#platform/postgres/statement';
import { END_OF_OUTBOX } from '#ledger/outbox/outbox.sql';
import { SIGNING_SECRETS } from './deliveries.sql';
import type { Webhook } from './webhook.entity';

/** Events with smaller ids were committed before. */
const PRESENT = `lpad(to_hex(${END_OF_OUTBOX}::text::bigint), 12, '0')`;
/** Seconds from a challenge to the next one. After the third there is none, until the owner asks for it. */
const WAITS = 'ARRAY[30, 300, 0]';

/**
 * Columns of a webhook whose URL is new, or that is to send again after it was DISABLED: nothing but the challenge is
 * sent until the server has answered it. For INSERT and UPDATE; call `OutboxPoller.hurry` afterwards.
 */
export const CHALLENGED = {
  status: 'UNVERIFIED',
  challengeTries: 0,
  challengeAskedAt: () => 'now()',
  retryAt: () => `'-infinity'`,
  takenUntil: () => `'-infinity'`,
  failures: 0,
  failingSince: null,
  lastError: null,
  isSlow: false,
} as const satisfies QueryDeepPartialEntity<Webhook>;

/** Whether the owner may ask for the challenge: once a minute, while nothing else is sent. */
export const MAY_BE_CHALLENGED = `status IN ('UNVERIFIED', 'DISABLED')
  AND challenge_asked_at <= now() - interval '1 minute'`;

export interface ClaimedChallenge {
  webhook: string;
  url: string;
  /** All that sign now, the newest first. */
  secrets: string[];
}

/** The next one is due from here on, so a process that is killed takes just this one with it. */
export const CLAIM_CHALLENGES = statement<{ webhooks: string[] }, ClaimedChallenge>(
  'claim_webhook_challenges',
  { webhooks: 'uuid[]' },
  `
    UPDATE webhooks SET retry_at = now() + make_interval(secs => (${WAITS})[challenge_tries + 1]),
      challenge_tries = challenge_tries + 1
    WHERE id = ANY (ARRAY(
      SELECT id FROM webhooks WHERE id = ANY(:webhooks) AND status = 'UNVERIFIED' AND due_at <= now()
      ORDER BY id FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING id AS webhook, url, ${SIGNING_SECRETS} AS secrets`,
);

/** Events come from now on, if the server has answered and the URL is still the same. */
export const FINISH_CHALLENGE = statement<
  { webhook: string; url: string; error: string | null },
  { status: string }
>(
  'finish_webhook_challenge',
  { webhook: 'uuid', url: 'text', error: 'text' },
  `
    UPDATE webhooks SET last_error = :error,
      status = CASE WHEN :error IS NULL THEN 'ACTIVE' ELSE status END,
      retry_at = CASE WHEN :error IS NULL THEN '-infinity' ELSE retry_at END,
      first_event = CASE WHEN :error IS NULL THEN ${PRESENT} ELSE first_event END
    WHERE id = :webhook AND url = :url AND status = 'UNVERIFIED'
    RETURNING status`,
);
