import { type OpenAPIObject, getSchemaPath } from '@nestjs/swagger';
import { modelOf } from '#ledger/outbox/event-models';
import { TOPICS } from '#ledger/outbox/ledger-event';
import { PAYLOADS } from '#ledger/outbox/payloads';

/** Adds the union of all events, where any endpoint sends them. */
export function addEvents(document: OpenAPIObject): OpenAPIObject {
  const { schemas = {} } = document.components!;
  if (!(modelOf(TOPICS[0]) in schemas)) return document;
  for (const topic of TOPICS) Object.assign(schemas[modelOf(topic)], { description: PAYLOADS[topic][1] });
  schemas.EventPayload = {
    description: 'What happened. `topic` tells which fields there are',
    oneOf: TOPICS.map((topic) => ({ $ref: getSchemaPath(modelOf(topic)) })),
    discriminator: {
      propertyName: 'topic',
      mapping: Object.fromEntries(TOPICS.map((topic) => [topic, getSchemaPath(modelOf(topic))])),
    },
  };
  return document;
}
