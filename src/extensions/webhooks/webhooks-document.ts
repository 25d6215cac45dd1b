import type { Type } from '@nestjs/common';
import { getSchemaPath } from '@nestjs/swagger';
import type { DocumentParts } from '#platform/openapi/api-docs';
import { EVENT_ID, modelOf } from '#ledger/outbox/event-models';
import { PAYLOADS, TOPICS } from '#ledger/outbox/ledger-event';
import { ChallengeAnswer, NOTICES, WebhookChallenge, WebhookNotice } from './webhooks.dto';

const SIGNED = {
  'Webhook-Id': ['Id of the delivery, the same in all attempts', '01a1fc82-bd8d-75f3-84db-8abcfa2c4bb2'],
  'Webhook-Timestamp': ['Time of the signature, Unix time', '1763701789'],
  'Webhook-Signature': [
    'Standard Webhooks: base64 of HMAC-SHA256 over id, time and body, joined by dots; two while a secret rotates',
    'v1,C2FVsBQIhrscChlQIMV+b5sSYspob7oD2sJ1q0Zt1mI=',
  ],
  'Savings-Signature': [
    'Form of Stripe: hex of HMAC-SHA256 over time and body, joined by a dot',
    `t=1763701789,v1=${'5f1f0c2a9d3e4b67'.repeat(4)}`,
  ],
};

const parameters = Object.entries(SIGNED).map(([name, [description, example]]) => {
  const parameter = { name, in: 'header' as const, required: true, description, example };
  return [name, { ...parameter, schema: { type: 'string' as const } }] as const;
});

const refTo = (model: string | Type): { $ref: string } => ({ $ref: getSchemaPath(model) });

const sent = (topic: string, schema: string | Type, says: string, example = {}, answer = {}): object => ({
  post: {
    operationId: `on_${topic.replace('.', '_')}`,
    summary: says.split('. ')[0],
    description: `${says}. The headers have two signatures: verify either.`,
    tags: ['Webhooks'],
    security: [],
    parameters: parameters.map(([name]) => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: refTo(schema), ...example } },
    },
    responses: {
      '2XX': { description: 'Received. Other responses, and none within 8 seconds, are retried', ...answer },
      '410': { description: 'Disables the webhook' },
    },
  },
});

const repeated = { content: { 'application/json': { schema: refTo(ChallengeAnswer) } } };

const NOTICE_SAYS: Record<(typeof NOTICES)[number], string> = {
  reload: 'Events were left out: read again what you keep',
  test: 'The owner of the webhook asked for a test',
};

/** Several topics share this schema. */
const notice = (topic: string): object => ({
  example: { id: EVENT_ID, topic, occurredAt: '2026-11-21T05:09:49.118Z' },
});

/** What a webhook is sent. */
export const WEBHOOKS_DOCUMENT: DocumentParts = {
  components: { parameters: Object.fromEntries(parameters) },
  webhooks: {
    ...Object.fromEntries(TOPICS.map((topic) => [topic, sent(topic, modelOf(topic), PAYLOADS[topic][1])])),
    // Also of `reload`, which webhooks get without its content.
    ...Object.fromEntries(
      NOTICES.map((topic) => [topic, sent(topic, WebhookNotice, NOTICE_SAYS[topic], notice(topic))]),
    ),
    challenge: sent('challenge', WebhookChallenge, 'Proves that the server wants the events', {}, repeated),
  },
};
