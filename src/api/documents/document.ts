import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule, getSchemaPath } from '@nestjs/swagger';
import { ERRORS } from '#platform/errors/error-codes';
import { modelOf } from '#ledger/outbox/event-models';
import { PAYLOADS, TOPICS } from '#ledger/outbox/ledger-event';
import { completeDocument } from './complete';

const OVERVIEW = `
Sign in with an Ethereum wallet, create savings pools and look into them, read transactions, yield and analytics, and follow the lottery.

**Start** by signing in: \`POST /auth/nonce\` with the address of the wallet, let the wallet sign an [EIP-4361](https://eips.ethereum.org/EIPS/eip-4361) message with that nonce, and send message and signature to \`POST /auth/verify\`. Its token is the bearer token of all other requests, for seven days.

**Every answer** has an \`X-Request-Id\`, which names the request in the logs: the value of the request, or a new one.

**Paths** work with and without a leading \`/api\`.

**Answers** are \`{"success": true, "data": …}\`, lists have \`pagination\` beside \`data\`. The answers of sign-in have their fields at the top level too.

**Amounts** are strings of decimal digits in the smallest unit of the token: \`"25000000000000000000"\` is 25 tokens of 18 decimals. **Times** are ISO 8601 in UTC. **Addresses** in answers are in lower case; in requests case does not matter.

**Rate limits** apply to each client address: 100 requests in 15 minutes, 5 of them to \`/auth\`, unless the operator set others. An answer that counts has the limit in \`X-RateLimit-Limit\`, the remaining requests in \`X-RateLimit-Remaining\`, and the seconds until the window ends in \`X-RateLimit-Reset\`. After a 429, wait for the seconds in \`Retry-After\`.

**Errors** are \`{"success": false, "error": …, "message": …, "code": …}\`, both texts the same, with \`details\` where fields are wrong. Tell them apart by \`code\`:

| code | status | meaning |
| --- | --- | --- |
`.trim();

const TAGS: Record<string, string> = {
  Auth: 'Sign-in with a wallet, sessions, and the current user',
  Users: 'The current user and their data',
  Config: 'Chain, contracts and rules of sign-in, for frontends',
  Pools: 'Savings pools of the caller, with their balance and yield',
  Calls: 'Contract calls that pay in, withdraw, claim and buy tickets, ready to sign',
  Circles: 'Savings circles of rotating pools: rounds, turns and contract calls',
  Positions: 'What the caller holds and can claim, as the contracts have it',
  Transactions: 'Deposits, withdrawals and claims, announced or seen on the chain',
  Analytics: 'Totals of all pools, and of the caller',
  Lottery: 'The open draw, and past winners',
  Events: 'Event streams: Server-Sent Events',
  Webhooks: 'Events sent to a server of the user',
  Health: 'Reports and probes, without envelope and rate limits',
  Metrics: 'For Prometheus',
};

/** Of `npm start`, for a document that no service serves. */
const LOCAL = 'http://127.0.0.1:3001';

/** The document with the address of the service. It must be absolute for programs that are made from the document. */
export const servedAt = (document: OpenAPIObject, url = LOCAL): OpenAPIObject => ({
  ...document,
  servers: [
    { url, description: url === LOCAL ? 'A local `npm start`' : 'The service that serves this document' },
  ],
});

/** The OpenAPI document, made from the DTOs that validate requests and describe responses. */
export function createDocument(app: INestApplication): OpenAPIObject {
  const names = Object.entries(ERRORS).map(
    ([code, { status, summary }]) => `| \`${code}\` | ${status} | ${summary} |`,
  );
  const config = new DocumentBuilder()
    .setTitle('Pooled savings service')
    .setDescription(`${OVERVIEW}\n${names.join('\n')}`)
    .setVersion('1.0')
    .setOpenAPIVersion('3.1.1')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addBearerAuth({ type: 'http', description: 'The token of POST /auth/verify' })
    .build();
  const document = SwaggerModule.createDocument(app, config, {
    operationIdFactory: (controller, method) =>
      `${controller.replace('Controller', '').toLowerCase()}_${method}`,
  });
  document.info.contact = { name: 'The pooled savings service contributors' };
  const used = new Set(
    Object.values(document.paths)
      .flatMap((item) => Object.values(item) as { tags?: string[] }[])
      .flatMap(({ tags = [] }) => tags),
  );
  document.tags = Object.entries(TAGS)
    .filter(([name]) => used.has(name))
    .map(([name, description]) => ({ name, description }));
  return servedAt(withoutNullable(addEvents(completeDocument(document))));
}

/** Adds the union of all events, where any endpoint sends them. */
function addEvents(document: OpenAPIObject): OpenAPIObject {
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

/**
 * Nest writes schemas as OpenAPI 3.0 has them, with `nullable`. In 3.1, which takes JSON Schema as it is, null is a type.
 */
const withoutNullable = (document: OpenAPIObject): OpenAPIObject => converted(document) as OpenAPIObject;

function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, each]) => [key, converted(each)] as const);
  const { nullable, ...schema } = Object.fromEntries<unknown>(fields);
  return nullable === true ? orNull(schema) : schema;
}

function orNull({ type, enum: values, allOf, ...rest }: Record<string, unknown>): object {
  if (allOf) return { ...rest, anyOf: [...(allOf as unknown[]), { type: 'null' }] };
  return {
    ...rest,
    ...(type !== undefined && { type: [type, 'null'] }),
    ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }),
  };
}
