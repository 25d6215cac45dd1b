import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { PAYLOADS, TOPICS, type Topic } from './ledger-event';

/** An id of an event, as an example. */
export const EVENT_ID = '0000000002f1-00000000001a-0001';

/** `deposit.confirmed` is `DepositConfirmedEvent` in the document. */
export const modelOf = (topic: Topic): string =>
  `${topic.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;

/** The class of a whole event, as streams and webhooks send it. Its name becomes the schema's name. */
function eventClass(topic: Topic): Type {
  const [payload] = PAYLOADS[topic] as readonly [Type<object>, string];
  class Event extends payload {}
  const property = (name: string, options: Parameters<typeof ApiProperty>[0]): void =>
    ApiProperty({ type: String, ...options })(Event.prototype, name);
  property('id', {
    description: 'Unique to this event. Later events have greater ids, compared as text',
    example: EVENT_ID,
  });
  property('topic', { enum: [topic] });
  property('occurredAt', {
    format: 'date-time',
    description: "The block's time for events from the chain, the database's time for the rest",
  });
  Object.defineProperty(Event, 'name', { value: modelOf(topic) });
  return Event;
}

/** Of controllers that send events, with `@ApiExtraModels`: the document then has their schemas and `EventPayload`. */
export const EVENT_MODELS = TOPICS.map(eventClass);
