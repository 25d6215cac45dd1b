import { type Hex, recoverMessageAddress } from 'viem';
import { ERRORS, type ErrorCode } from '#platform/errors/error-codes';
import { type SignedIn, type TestApp, useApp } from '../support/app';
import { type Content, type OpenApiDocument, type Operation, readDocument } from '../support/openapi';

/** Makes what an operation needs for its answer to be a success. Gives the parameters in its path. */
type Preparation = (app: TestApp, user: SignedIn) => Promise<Record<string, string>>;

const ownPool: Preparation = async (app, user) => ({ id: (await app.createPool(user)).id as string });
const ownWebhook: Preparation = async (app, user) => {
  const { body } = await app.post('/webhooks', { url: 'https://webhooks.example' }, user);
  return { id: body.data.id as string };
};

/** By operation id. */
const PREPARATIONS: Record<string, Preparation> = {
  pools_detail: ownPool,
  pools_update: ownPool,
  pools_yieldReport: ownPool,
  transactions_sent: async (app, user) => ({ id: (await app.createPool(user)).depositId as string }),
  webhooks_get: ownWebhook,
  webhooks_rotate: ownWebhook,
  webhooks_update: ownWebhook,
};

const app = useApp();
let document: OpenApiDocument;
interface Described {
  name: string;
  method: string;
  path: string;
  operation: Operation;
}
let operations: Described[];
/** And what the service sends. */
let all: Described[];

beforeAll(async () => {
  const answer = await app.nest.inject({ method: 'GET', url: '/docs/openapi.json' });
  document = readDocument(answer.payload);
  operations = described(document.paths);
  all = [...operations, ...described(document.webhooks)];
});

const described = (paths: OpenApiDocument['paths']): Described[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );

/** All examples of a content, whichever way they are given. */
const examplesOf = ({ example, examples = {} }: Content): unknown[] => [
  ...(example === undefined ? [] : [example]),
  ...Object.values(examples).map(({ value, $ref }) =>
    $ref ? document.components.examples[$ref.split('/').pop()!].value : value,
  ),
];

it('every operation says what it is and does, and has a tag that says what it is of', () => {
  const tagged = new Map(document.tags.map(({ name, description }) => [name, description]));
  for (const { name, operation } of all) {
    const { summary = '', description = '', tags = [] } = operation;
    expect([name, summary]).toEqual([name, expect.stringMatching(/^[A-Z].{3,59}[^.]$/)]);
    expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z][^]{20,}[.]$/)]);
    // What takes more belongs in docs/.
    expect([name, description.split(/\s+/).length <= 40]).toEqual([name, true]);
    expect([name, tags.map((tag) => tagged.get(tag))]).toEqual([name, [expect.stringMatching(/.{10,}/)]]);
  }
});

it('every parameter is described, and those in the path have an example', () => {
  for (const { name, operation } of operations)
    for (const parameter of operation.parameters ?? []) {
      const what = `${name} ${parameter.name}`;
      expect([what, parameter.description]).toEqual([what, expect.stringMatching(/.{5,}/)]);
      if (parameter.in === 'path') expect([what, parameter.example]).toEqual([what, expect.any(String)]);
    }
});

it('every request and error has an example, and every example has exactly the fields of its schema', () => {
  for (const { name, operation } of all) {
    const bodies = [
      { where: 'request', content: operation.requestBody?.content },
      ...Object.entries(operation.responses).map(([where, { content }]) => ({ where, content })),
    ];
    for (const { where, content = {} } of bodies)
      for (const body of Object.values(content)) {
        const examples = examplesOf(body);
        // For answers and events, the examples of the fields are enough.
        const isSent = /^2/.test(where) || operation.operationId.startsWith('on_');
        if (!isSent) expect([name, where, examples.length]).not.toEqual([name, where, 0]);
        for (const example of examples) {
          const wrong = app.validator.violations(body.schema!, example);
          expect([name, where, wrong]).toEqual([name, where, undefined]);
        }
      }
  }
});

it('every string and number in answers and events has an example or a format', () => {
  for (const [schema, { properties = {} }] of Object.entries(document.components.schemas))
    for (const [field, of] of Object.entries(properties as Record<string, Record<string, unknown>>)) {
      const name = `${schema}.${field}`;
      const isClear =
        of.enum || of.format || !['string', 'integer', 'number'].includes([of.type].flat()[0] as string);
      // Give the field an example, or its name one in src/api/documents/examples.ts.
      if (!isClear) expect([name, Object.keys(of)]).toEqual([name, expect.arrayContaining(['example'])]);
      if (of.example !== undefined)
        expect([name, app.validator.violations(of, of.example)]).toEqual([name, undefined]);
    }
});

it('fields of requests have no default in the schema: generators take those with one for required', () => {
  const withDefault = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties as Record<string, object>)
      .filter(([, schema]) => 'default' in schema)
      .map(([field]) => `${name}.${field}`),
  );
  expect(withDefault).toEqual([]);
});

it('errors are named, with the texts of the service', () => {
  for (const { name, operation } of operations)
    for (const [status, { content = {} }] of Object.entries(operation.responses))
      if (Number(status) >= 400 && status !== '431') {
        const names = Object.keys(content['application/json'].examples ?? {});
        expect([name, status, names.length]).not.toEqual([name, status, 0]);
        for (const code of names) expect(ERRORS[code as ErrorCode].status).toBe(Number(status));
      }
});

describe('the examples of requests', () => {
  let user: SignedIn;
  beforeAll(async () => {
    user = await app.signIn();
  });

  it('are accepted by the service, once what they need is there: PREPARATIONS', async () => {
    for (const { name, path, method, operation } of operations) {
      const body = operation.requestBody?.content['application/json'];
      const prepare = PREPARATIONS[operation.operationId];
      if ((!body && !prepare) || path === '/auth/verify') continue;
      const [success] = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
      for (const example of body ? examplesOf(body) : [undefined]) {
        const made = (await prepare?.(app, user)) ?? {};
        const url = path.replace(/\{(\w+)\}/g, (whole, parameter: string) => made[parameter] ?? whole);
        const { status, text } = await app.send({ method, url, body: example, as: user });
        expect([name, status, text]).toEqual([name, Number(success), expect.anything()]);
        if (path.endsWith('/logout/all')) user = await app.signIn(user.wallet);
      }
    }
  });

  it('are prepared only for operations that there are', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(Object.keys(PREPARATIONS).filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('are really signed where they are signed, though only once good for anything', async () => {
    const [example] = examplesOf(
      document.paths['/auth/verify'].post.requestBody!.content['application/json'],
    );
    const { message, signature } = example as { message: string; signature: Hex };
    expect(await recoverMessageAddress({ message, signature })).toBe(message.split('\n')[1]);
    const answer = await app.post('/auth/verify', example);
    expect(answer.body).toMatchObject({ error: ERRORS.authentication_failed.error });
  });

  /** What /docs fills in before anybody has typed anything. */
  function prefilled({ path, operation }: (typeof operations)[number]): string {
    const query: string[] = [];
    let filled = path;
    for (const { name, in: where, example, schema } of operation.parameters ?? []) {
      const value = (example ?? schema?.example ?? schema?.default) as string | undefined;
      if (where === 'path') filled = filled.replace(`{${name}}`, String(example));
      else if (where === 'query' && value !== undefined) query.push(`${name}=${String(value)}`);
    }
    return `${filled}?${query.join('&')}`;
  }

  it('in paths are of the right form', async () => {
    for (const each of operations) {
      const { name, path, method, operation } = each;
      if (!path.includes('{')) continue;
      const content = operation.requestBody?.content['application/json'];
      const body = content && examplesOf(content)[0];
      const { status } = await app.send({ method, url: prefilled(each), body, as: user });
      expect([name, status]).toEqual([name, 404]);
    }
  });

  it('and the defaults go together: what reads and has no body is no 400', async () => {
    for (const each of operations.filter(({ method, path }) => method === 'GET' && path !== '/events')) {
      const { status } = await app.send({ method: 'GET', url: prefilled(each), as: user });
      expect([each.name, status]).not.toEqual([each.name, 400]);
    }
  });
});
