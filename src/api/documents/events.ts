import type { Type } from '@nestjs/common';
import { ApiProperty, type OpenAPIObject, getSchemaPath } from '@nestjs/swagger';
import { TOPICS, type Topic } from '#ledger/outbox/ledger-event';
import { PAYLOADS } from '#ledger/outbox/payloads';
import { ChallengeAnswer, NOTICES, WebhookChallenge, WebhookNotice } from '#features/webhooks/webhooks.dto';
import { exampleOf } from './examples';

/** `deposit.confirmed` is `DepositConfirmedEvent` in the document. */
const nameOf = (topic: Topic): string =>
  `${topic.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;

/** The class of a whole event, as streams and webhooks send it. Its name becomes the schema's name. */
function eventClass(topic: Topic): Type {
  const [payload] = PAYLOADS[topic] as readonly [Type<object>, string];
  class Event extends payload {}
  const property = (name: string, options: Parameters<typeof ApiProperty>[0]): void =>
    ApiProperty({ type: String, ...options })(Event.prototype, name);
  property('id', {
    description: 'Unique to this event. Later events have greater ids, compared as text',
    example: '0000000002f1-00000000001a-0001',
  });
  property('topic', { enum: [topic] });
  property('occurredAt', {
    format: 'date-time',
    description: "The block's time for events from the chain, the database's time for the rest",
  });
  Object.defineProperty(Event, 'name', { value: nameOf(topic) });
  return Event;
}

export const EVENT_MODELS = [
  ...TOPICS.map(eventClass),
  WebhookNotice,
  WebhookChallenge,
  ChallengeAnswer,
] as Type[];

const refTo = (name: string): { $ref: string } => ({ $ref: getSchemaPath(name) });

const SIGNED = {
  'Webhook-Id': ['Names the delivery, the same in all attempts', '01a1fc82-bd8d-75f3-84db-8abcfa2c4bb2'],
  'Webhook-Timestamp': ['When it was signed, Unix time', '1763701789'],
  'Webhook-Signature': [
    'By Standard Webhooks; two of them while a secret rotates',
    'v1,C2FVsBQIhrscChlQIMV+b5sSYspob7oD2sJ1q0Zt1mI=',
  ],
  'Savings-Signature': ['The same in the form of Stripe', `t=1763701789,v1=${'5f1f0c2a9d3e4b67'.repeat(4)}`],
};

/** Adds what happens: the union of all events, which the stream refers to, and what a webhook is sent. */
export function addEvents(document: OpenAPIObject): OpenAPIObject {
  const { schemas = {} } = document.components!;
  for (const topic of TOPICS) Object.assign(schemas[nameOf(topic)], { description: PAYLOADS[topic][1] });
  schemas.EventPayload = {
    description: 'What happened. `topic` tells which fields there are',
    oneOf: TOPICS.map((topic) => refTo(nameOf(topic))),
    discriminator: {
      propertyName: 'topic',
      mapping: Object.fromEntries(TOPICS.map((topic) => [topic, getSchemaPath(nameOf(topic))])),
    },
  };
  const parameters = Object.entries(SIGNED).map(([name, [description, example]]) => {
    const parameter = { name, in: 'header' as const, required: true, description, example };
    return [name, { ...parameter, schema: { type: 'string' as const } }] as const;
  });
  Object.assign(document.components!.parameters!, Object.fromEntries(parameters));
  const sent = (topic: string, schema: string, says: string, example = {}, answer = {}): object => ({
    post: {
      operationId: `on_${topic.replace('.', '_')}`,
      summary: says.split('. ')[0],
      description: `${says}. \`POST /webhooks\` says how it is signed.`,
      tags: ['Webhooks'],
      security: [],
      parameters: parameters.map(([name]) => ({ $ref: `#/components/parameters/${name}` })),
      requestBody: {
        required: true,
        content: { 'application/json': { schema: refTo(schema), ...example } },
      },
      responses: {
        '2XX': { description: 'Received. Anything else, and no answer in 8 seconds: sent again', ...answer },
        '410': { description: 'Gone: nothing is sent any more' },
      },
    },
  });
  const repeated = { content: { 'application/json': { schema: refTo('ChallengeAnswer') } } };
  // Several topics share this schema.
  const notice = (topic: string): object => ({
    example: { ...(exampleOf(refTo('WebhookNotice'), document) as object), topic },
  });
  document.webhooks = {
    ...Object.fromEntries(TOPICS.map((topic) => [topic, sent(topic, nameOf(topic), PAYLOADS[topic][1])])),
    ...Object.fromEntries(
      NOTICES.map((topic) => [topic, sent(topic, 'WebhookNotice', NOTICE_SAYS[topic], notice(topic))]),
    ),
    challenge: sent('challenge', 'WebhookChallenge', 'Proves that the server wants the events', {}, repeated),
  };
  return document;
}

const NOTICE_SAYS: Record<(typeof NOTICES)[number], string> = {
  reload: 'Events were left out: read again what you keep',
  test: 'The owner of the webhook asked for a test',
};
