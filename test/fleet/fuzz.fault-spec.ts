import fc from 'fast-check';
import { type Request, type SignedIn, TEN, useApp } from '../support/app';
import { report } from '../support/processes/fleet';
import { addTransaction } from '../support/ledger';
import { headerText, json, text } from '../support/hostile';
import { readDocument } from '../support/openapi';
import { SEED } from '../support/random';

/** `npm run fuzz` sends 100,000. */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 20_000);
const AT_ONCE = 20;
/** Characters. Node itself refuses more than 16 KB before the body. */
const MAX_HEAD = 14_000;

type Schema = Record<string, any>;
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema?: Schema;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

jest.setTimeout(60_000 + REQUESTS * 30);
const app = useApp({ TRUST_PROXY: '127.0.0.1' });

/** Values by field name that pass the first checks, besides those of the schema. */
const known: Record<string, string[]> = {
  initialDeposit: [TEN, '0'.repeat(20) + TEN, (2n ** 256n - 1n).toString()],
  'Idempotency-Key': ['a', 'b', 'c'],
};

/** Values that the schema allows, including those at its limits. */
function valid(schema: Schema, all: Record<string, Schema>): fc.Arbitrary<unknown> {
  if (schema.$ref) return valid(all[(schema.$ref as string).split('/').pop()!], all);
  if (Array.isArray(schema.type)) {
    const [type] = schema.type as string[];
    return fc.option(valid({ ...schema, type }, all), { nil: null });
  }
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]));
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer' || schema.type === 'number') {
    const { minimum: min = -(2 ** 31), maximum: max = 2 ** 31 } = schema as {
      minimum?: number;
      maximum?: number;
    };
    return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }));
  }
  if (schema.type === 'array')
    return fc.array(valid(schema.items as Schema, all), { maxLength: (schema.maxItems as number) ?? 5 });
  if (schema.type === 'object') {
    const { properties = {}, required = [] } = schema as {
      properties?: Record<string, Schema>;
      required?: string[];
    };
    const fields = Object.entries(properties).map(
      ([name, field]) => [name, orKnown(name, valid(field, all))] as const,
    );
    return fc.record(Object.fromEntries(fields), { requiredKeys: required });
  }
  if (schema.format === 'uuid') return fc.uuid();
  if (schema.pattern) return fc.stringMatching(new RegExp(schema.pattern as string));
  return fc.string();
}

const orKnown = <T>(name: string, good: fc.Arbitrary<T>): fc.Arbitrary<T | string> =>
  known[name] ? fc.oneof(fc.constantFrom(...known[name]), good) : good;

/** Values that the schema does not allow, and unusual ones. */
const wrong: fc.Arbitrary<string> = fc.oneof(
  text,
  fc.constantFrom('0', '-1', '1e3', '101', '2147483648', ''),
);

const oneOf = (good: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 2, arbitrary: good }, { weight: 1, arbitrary: wrong });

const encode = (value: string): string => encodeURIComponent(Buffer.from(value).toString());

function bodies(schema: Schema, all: Record<string, Schema>): fc.Arbitrary<string> {
  const good = valid(schema, all);
  const changed = fc
    .tuple(good, fc.array(fc.tuple(text, json), { maxLength: 2 }), fc.array(json))
    .map(([value, extra, values]) => {
      const fields = Object.entries(value as object).map(([name, field], i) => [
        name,
        values[i] ?? JSON.stringify(field),
      ]);
      return `{${[...fields, ...extra].map(([name, field]) => `${JSON.stringify(name)}:${field}`).join(',')}}`;
    });
  return fc.oneof({ weight: 3, arbitrary: good.map((value) => JSON.stringify(value)) }, changed, json, text);
}

/** Requests to one operation of the document. */
function requests(
  [path, method, operation]: [string, string, Operation],
  { components: { schemas } }: Document,
  tokens: string[],
): fc.Arbitrary<Request> {
  const parameters = operation.parameters ?? [];
  const value = ({ name, schema = { type: 'string' } }: Parameter): fc.Arbitrary<string> => {
    const good = valid(schema, schemas).map(String);
    return oneOf(orKnown(name, good));
  };
  const record = (place: Parameter['in']): Record<string, fc.Arbitrary<string>> =>
    Object.fromEntries(
      parameters.filter((each) => each.in === place).map((each) => [each.name, value(each)]),
    );
  const schema = operation.requestBody?.content['application/json']?.schema;
  return fc
    .record({
      prefix: fc.constantFrom('', '/api'),
      inPath: fc.record(record('path')),
      inQuery: fc.record(record('query'), { requiredKeys: [] }),
      more: fc.array(fc.tuple(text, text), { maxLength: 1 }),
      headers: fc.record(record('header'), { requiredKeys: [] }),
      strange: fc.record(
        {
          accept: headerText,
          'x-request-id': headerText,
          'x-forwarded-for': headerText,
          origin: headerText,
          'content-type': fc.oneof(
            { weight: 9, arbitrary: fc.constant('application/json') },
            fc.constantFrom('application/json; charset=utf-8', 'text/plain', ''),
          ),
        },
        { requiredKeys: [] },
      ),
      token: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...tokens) }, headerText),
      body: schema
        ? fc.option(bodies(schema, schemas), { nil: undefined, freq: 20 })
        : fc.constant(undefined),
      verb: fc.oneof(
        { weight: 15, arbitrary: fc.constant(method.toUpperCase()) },
        fc.constantFrom('HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'),
      ),
    })
    .map(({ prefix, inPath, inQuery, more, headers, strange, token, body, verb }) => {
      const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encode(inPath[name]));
      const query = [...Object.entries(inQuery), ...more]
        .map((pair) => pair.map((part) => encode(part ?? '')).join('='))
        .join('&');
      const plain = (value: string): string => value.replace(/[^\x20-\x7e\xa0-\xff]/g, '');
      return {
        method: verb,
        url: `${prefix}${target}${query && `?${query}`}`,
        body,
        headers: {
          authorization: `Bearer ${token}`,
          ...strange,
          ...Object.fromEntries(Object.entries(headers).map(([name, each]) => [name, plain(each ?? '')])),
        },
      };
    })
    .filter(({ url, headers }) => JSON.stringify([url, headers]).length < MAX_HEAD);
}

/** Placeholders for tokens, which change as requests log out. */
const [USER, STRANGER] = ['user', 'stranger'];

it(`${REQUESTS} requests made from the OpenAPI document: no 5xx, every answer as documented`, async () => {
  await app.listen();
  let [user, stranger]: SignedIn[] = [await app.signIn(), await app.signIn()];
  const pool = (await app.createPool(user, { members: [stranger.address] })).id as string;
  const document = readDocument((await app.get('/docs/openapi.json')).text) as unknown as Document;
  // What the indexer would have read of the chain.
  await app.sql(
    `INSERT INTO chain_facts (chain_id, token_address, token_symbol, token_decimals)
     VALUES (31337, '0x${'1'.repeat(40)}', 'TEST', 18)`,
  );
  await app.sql(
    `INSERT INTO chain_tokens SELECT DISTINCT contract_address, '0x${'1'.repeat(40)}', 'TEST', 18 FROM pools`,
  );
  // Streams do not end; test/events/events.e2e-spec.ts has theirs.
  const paths = Object.entries(document.paths).filter(([path]) => path !== '/events');
  const operations = paths.flatMap(([path, methods]) =>
    Object.entries(methods)
      // A webhook of a random address would have the service send there; test/webhooks/webhooks.e2e-spec.ts tries addresses.
      .filter(([method]) => path !== '/webhooks' || method !== 'post')
      .map(([method, operation]): [string, string, Operation] => [path, method, operation]),
  );
  // A pool that both may read, and one that only one of them may.
  known.id = known.poolId = [pool, (await app.createPool(user)).id as string];
  // Something is in them, so that no request cancels them.
  for (const poolId of known.id) await addTransaction(app, { poolId, account: user.address });
  const arbitrary = fc.oneof(
    ...operations.map((operation) => requests(operation, document, [USER, STRANGER, ''])),
  );
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(arbitrary, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (batch) => {
      let loggedOut = false;
      const bearers: Record<string, string> = {
        [`Bearer ${USER}`]: `Bearer ${user.token}`,
        [`Bearer ${STRANGER}`]: `Bearer ${stranger.token}`,
      };
      await Promise.all(
        batch.map(async ({ headers = {}, ...rest }) => {
          const authorization = bearers[headers.authorization] ?? headers.authorization;
          const request = { ...rest, headers: { ...headers, authorization } };
          // `send` checks every answer against the document.
          const { status } = await app.send(request);
          const ends = request.url.includes('/logout') || request.method === 'DELETE';
          loggedOut ||= status === 200 && ends;
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status >= 500) throw new Error(`${status} for ${JSON.stringify(request)}`);
        }),
      );
      if (loggedOut) [user, stranger] = [await app.signIn(user.wallet), await app.signIn(stranger.wallet)];
    }),
    { numRuns: Math.ceil(REQUESTS / AT_ONCE), seed: SEED },
  );
  const sorted = [...statuses].sort(([a], [b]) => a - b);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  report(`fuzz, seed ${SEED}`, {
    operations: operations.length,
    requests: total,
    ...Object.fromEntries(sorted.map(([status, count]) => [`answers ${status}`, count])),
  });
  expect(total).toBeGreaterThanOrEqual(REQUESTS);
  // Requests passed validation and reached the handlers.
  for (const status of [200, 201, 400, 401, 403, 404]) expect(statuses.get(status)).toBeGreaterThan(0);
});
