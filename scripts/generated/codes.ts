import type { OpenAPIObject } from '@nestjs/swagger';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ERRORS, type ErrorCode } from '#platform/errors/error-codes';
import { TOPICS } from '#ledger/outbox/ledger-event';
import { exampleOf, resolve } from '#api/documents/examples';
import { table } from './markdown';

const ROOT = path.join(__dirname, '../..');

/** What a frontend does about an error, where its code has no advice of its own. */
const BY_STATUS: Record<number, string> = {
  400: 'Correct the request: `details` names the fields.',
  401: 'Sign in again.',
  403: 'Do not offer the action to this user.',
  404: 'Show that it does not exist.',
  409: 'Read the current state and show it: another attempt is refused too until the state changes.',
  413: 'Send less.',
  415: 'Send `Content-Type: application/json`.',
  422: 'Use a new `Idempotency-Key`.',
  429: 'Wait the seconds in `Retry-After`, then send it again.',
  500: 'Show that it failed, with the `X-Request-Id` of the response for support.',
  503: 'Wait the seconds in `Retry-After`, then send it again.',
};

const BY_CODE: Partial<Record<ErrorCode, string>> = {
  invalid_json: 'Send valid JSON.',
  bad_request: 'Correct the request as the text says.',
  malformed_path: 'Correct the path: encode its segments.',
  deposit_below_minimum: 'Ask for at least the minimum of `GET /config`.',
  below_minimum: 'Ask for at least the amount in `details`.',
  authentication_failed: 'Get a new nonce and have the wallet sign again.',
  owner_cannot_leave: 'Offer the owner to cancel an unpaid pool instead.',
  sign_in_again: 'Have the wallet sign in again, then send it again.',
  cross_site_request: 'Have the operator add the origin of the page to `CORS_ORIGINS`.',
  no_open_draw: 'Show that no draw is open, and wait for the event `draw.opened`.',
  idempotency_in_progress: 'Wait the seconds in `Retry-After`, then send it again with the same key.',
  deposit_submitted: 'Wait for the event `deposit.confirmed`; offer to take a dropped payment back.',
  insufficient_balance: 'Ask for at most the balance of the position.',
  calls_unknown: 'Have the user pay in and out at the contract itself.',
  contract_refuses: 'Show the reason of `details`, and offer it again later.',
  uses_circle: 'Use the calls of the circle.',
  too_early: 'Offer it again later.',
  webhook_not_active: 'Have the webhook answer its challenge, or enable it again, first.',
  webhook_test_pending: 'Wait for the pending test.',
  outcome_unknown: 'Repeat `POST /pools` with the same `Idempotency-Key`. Otherwise read first, then decide.',
};

/** Every error, with what it means and what to do about it. */
export const errorTable = (): string =>
  table(
    ['code', 'status', 'meaning', 'what to do'],
    (Object.keys(ERRORS) as ErrorCode[]).map((code) => {
      const { status, summary } = ERRORS[code];
      return [`\`${code}\``, `${status}`, summary, BY_CODE[code] ?? BY_STATUS[status] ?? ''];
    }),
  );

/** The JSON of every event, as streams and webhooks send it, from openapi.json. */
export function eventExamples(): string {
  const document = JSON.parse(readFileSync(path.join(ROOT, 'openapi.json'), 'utf8')) as OpenAPIObject;
  const schemas = document.components!.schemas!;
  const byTopic = new Map(
    Object.values(schemas).flatMap((schema) => {
      const { properties, description } = resolve(schema, schemas);
      const { enum: topics = [] } = properties?.topic && 'enum' in properties.topic ? properties.topic : {};
      // Those with several are about events.
      return topics.length === 1 ? [[topics[0] as string, { schema, description }] as const] : [];
    }),
  );
  return TOPICS.map((topic) => {
    const { schema, description } = byTopic.get(topic)!;
    const { id, occurredAt, ...fields } = exampleOf(schema, document) as Record<string, unknown>;
    const example = { id, topic, occurredAt, ...fields };
    const missing = resolve(schema, schemas).required!.filter((name) => !(name in example));
    if (missing.length > 0) throw new Error(`${topic}: no example of ${missing.join(', ')}`);
    return `### ${topic}\n\n${description}\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
  }).join('\n\n');
}
