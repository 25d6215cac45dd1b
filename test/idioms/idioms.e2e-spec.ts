import multipart from '@fastify/multipart';
import { ClassSerializerInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import WebSocket from 'ws';
import { CursorCodec } from '#platform/answers/cursor';
import { createLogger } from '#platform/log/logger';
import { JwtAuthGuard } from '#features/access/auth.guard';
import { HealthService } from '#features/health/health.service';
import { TEN, type TestApp, TestApp as App, until, useApp } from '../support/app';
import { AnswersController, Stamp } from '../support/example/answers';
import { Greetings } from '../support/example/events';
import { ExampleModule } from '../support/example/example.module';
import { NobodyGuard } from '../support/example/rest';
import { addTransaction } from '../support/ledger';

interface Answer {
  status: number;
  type: string | null;
  text: string;
  /** Parsed, when it is JSON. */
  body: any;
  headers: Headers;
}

const prepare = async (app: NestFastifyApplication): Promise<void> => {
  await app.register(multipart, { limits: { fileSize: 1000 } });
  app.useWebSocketAdapter(new WsAdapter(app));
};

const app = useApp({ CORS_ORIGINS: 'https://dapp.example' }, { modules: [ExampleModule], prepare });
beforeAll(() => app.listen());

const bearer = ({ token }: { token: string }): Record<string, string> => ({
  authorization: `Bearer ${token}`,
});

/** Uses a socket without the document check, because the example is not in the service's document. */
async function ask(path: string, init: RequestInit = {}, of: TestApp = app): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${of.port}/api/example/${path}`, init);
  const text = await response.text();
  const type = response.headers.get('content-type');
  const body: unknown = type?.startsWith('application/json') && text !== '' ? JSON.parse(text) : undefined;
  return { status: response.status, type, text, body, headers: response.headers };
}

describe('answers', () => {
  it.each([
    ['file', 'text/csv', 'a,b\n1,2\n'],
    ['stream', 'text/plain', 'one two'],
    ['web-stream', '', 'from the web'],
    ['buffer', 'application/octet-stream', '\x01\x02\x03'],
    ['csv', 'text/csv; charset=utf-8', 'name,amount\nAda,10\n'],
  ])('a %s is sent as it is', async (path, type, expected) => {
    const { status, text, type: sent, headers } = await ask(`answers/${path}`);
    expect([status, sent ?? '', text]).toEqual([200, expect.stringContaining(type), expected]);
    expect(headers.get('x-request-id')).toBeTruthy();
  });

  it.each([
    ['text', 'text'],
    ['observable', { name: 'Ada', amount: '1' }],
  ])('a %s is enveloped', async (path, data) => {
    const { status, type, body } = await ask(`answers/${path}`);
    expect([status, type, body]).toEqual([200, 'application/json; charset=utf-8', { success: true, data }]);
  });

  it('204 has no body and no type', async () => {
    const { status, text, type } = await ask('answers/nothing', { method: 'DELETE' });
    expect([status, text, type]).toEqual([204, '', null]);
  });

  it('HEAD has only the headers', async () => {
    const { status, text, headers } = await ask('answers/text', { method: 'HEAD' });
    expect([status, text, headers.get('content-length')]).toEqual([200, '', '30']);
    const file = await ask('answers/file', { method: 'HEAD' });
    expect([file.status, file.type]).toEqual([200, 'text/csv']);
  });

  it('@Res() is left alone, and with passthrough the answer is enveloped', async () => {
    const own = await ask('answers/own');
    expect([own.status, own.text]).toEqual([202, 'sent by hand']);
    const { status, body, headers } = await ask('answers/passthrough');
    expect([status, body]).toEqual([203, { success: true, data: { name: 'Ada', amount: '1' } }]);
    expect(headers.get('x-example')).toBe('yes');
  });

  it('what a handler sends with an error status gets no success envelope', async () => {
    const { status, body } = await ask('answers/failed');
    expect([status, body]).toEqual([409, { reason: 'of its own' }]);
  });

  it('@ApiOkResponse() is documented in the envelope, and @ApiNoContentResponse() with the errors of @ApiEndpoint()', async () => {
    const { payload } = await app.nest.inject('/docs/openapi.json');
    const { paths } = JSON.parse(payload) as { paths: Record<string, Record<string, { responses: any }>> };
    const { get, delete: forget } = paths['/example/answers/documented'];
    const { schema } = get.responses['200'].content['application/json'];
    expect(schema).toEqual({
      type: 'object',
      required: ['success', 'data'],
      properties: {
        success: { type: 'boolean', enum: [true] },
        data: { $ref: '#/components/schemas/Saver' },
      },
    });
    expect(Object.keys(get.responses).join(' ')).toBe('200 304 400 403 429 431 500 503');
    expect(Object.keys(forget.responses).join(' ')).toBe('204 400 403 404 429 431 500 503');
    expect(paths['/health'].get.responses['200'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/HealthReport',
    });
    const url = '/example/answers/documented';
    expect((await app.send({ url })).status).toBe(200);
    expect((await app.send({ url, method: 'DELETE' })).status).toBe(204);
    await expect(app.send({ url: `${url}?with=more` })).rejects.toThrow(
      'body.data.amount is missing, body.data.more is not in the document',
    );
  });

  it('@HttpCode() below @ApiData() is the status that is documented and answered', async () => {
    const { payload } = await app.nest.inject('/docs/openapi.json');
    const url = '/example/answers/documented';
    const { post } = (JSON.parse(payload) as { paths: Record<string, Record<string, { responses: object }>> })
      .paths[url];
    expect(Object.keys(post.responses).join(' ')).toBe('202 400 403 429 431 500 503');
    expect((await app.send({ url, method: 'POST' })).status).toBe(202);
  });

  it('@RawResponse() omits the envelope', async () => {
    expect((await ask('answers/raw')).body).toEqual({ name: 'Ada', amount: '1' });
    const { status, type, text } = await ask('answers/raw-json', { method: 'POST' });
    expect([status, type]).toEqual([201, 'application/json; charset=utf-8']);
    expect(text).toBe('[{"name":"Ada","amount":"123456789012345678901234567890"}]');
  });

  it('events arrive one by one, and end when the client leaves', async () => {
    const leave = new AbortController();
    const response = await fetch(`http://127.0.0.1:${app.port}/example/answers/events`, {
      signal: leave.signal,
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(response.headers.get('x-request-id')).toBeTruthy();
    const reader = response.body!.getReader();
    let text = '';
    while (!text.includes('"n":2')) text += Buffer.from((await reader.read()).value).toString();
    expect(text).toContain('id: 0\ndata: {"n":0}\n\n');
    expect(AnswersController.listeners).toBe(1);
    leave.abort();
    await until(() => AnswersController.listeners === 0);
  });
});

it('events that are refused before the first one have the status and text of an error', async () => {
  const { status, body } = await ask('answers/no-events');
  expect([status, body]).toEqual([
    409,
    { success: false, error: 'No events', message: 'No events', code: 'conflict' },
  ]);
});

// Before another application is made: class-validator asks the last one.
it('a validator that looks something up runs again for each request', async () => {
  const address = `0x${'ab'.repeat(20)}`;
  expect((await ask(`validation/reserve?name=${address}`)).body.data).toEqual({ name: address });
  await app.sql('INSERT INTO users (id, address, created_at) VALUES (gen_random_uuid(), $1, now())', [
    address,
  ]);
  const { status, body } = await ask(`validation/reserve?name=${address}`);
  expect([status, body.details]).toEqual([400, [{ field: 'name', message: 'is taken' }]]);
});

describe('interceptors see plain data, and what they return is enveloped', () => {
  it.each([
    ['text', { name: 'Ada', amount: '1' }, { data: { name: 'Ada', amount: '1', stamped: true } }],
    [
      'top-level-copy',
      { name: 'Ada', amount: '1' },
      { data: { name: 'Ada', amount: '1', stamped: true }, name: 'Ada', amount: '1', stamped: true },
    ],
    [
      'page?page=2',
      [{ name: 'Ada', amount: '123456789012345678901234567890' }],
      {
        data: [{ name: 'Ada', amount: '123456789012345678901234567890', stamped: true }],
        pagination: { page: 2, limit: 20, total: 21, pages: 2 },
      },
    ],
    [
      'after',
      [{ name: 'Ada', amount: '123456789012345678901234567890' }],
      {
        data: [{ name: 'Ada', amount: '123456789012345678901234567890', stamped: true }],
        next: new CursorCodec('savers', /^\d$/).encode('7'),
      },
    ],
  ])('of a method: %s', async (path, seen, answer) => {
    const { status, body } = await ask(`intercepted/${path}`);
    expect([status, body]).toEqual([200, { success: true, ...answer }]);
    expect(Stamp.seen).toEqual(seen);
    expect((Stamp.seen as object).constructor).toBe(seen.constructor);
  });

  it.each(['ClassSerializerInterceptor', 'an interceptor of its own'])('of all: %s', async (name) => {
    const other = new App();
    try {
      await other.start({}, undefined, undefined, {
        modules: [ExampleModule],
        prepare: async (nest) => {
          await prepare(nest);
          nest.useGlobalInterceptors(
            name.startsWith('Class') ? new ClassSerializerInterceptor(nest.get(Reflector)) : new Stamp(),
          );
        },
      });
      await other.listen();
      // The service's own endpoints, which are checked against the document, keep their answers.
      if (name.startsWith('Class')) {
        const user = await other.signIn();
        const { id } = await other.createPool(user);
        expect((await other.get('/pools', user)).body).toMatchObject({
          data: [{ id }],
          pagination: { total: 1 },
        });
        expect((await other.get(`/pools/${id}`, user)).body.data.owner.id).toBe(user.user.id);
        expect((await other.get('/health')).status).toBe(200);
        expect((await other.get('/metrics')).text).toContain('http_request_duration_seconds');
      }
      expect((await ask('answers/file', {}, other)).text.length).toBeGreaterThan(0);
      const page = await ask('intercepted/page', {}, other);
      expect(page.body).toMatchObject({ data: [{ name: 'Ada', stamped: true }], pagination: { total: 21 } });
    } finally {
      await other.stop();
    }
  });
});

describe('a handler that two controllers inherit', () => {
  it('is open only where its controller is @Public()', async () => {
    const statuses = [];
    for (const path of ['open', 'closed', 'open']) statuses.push((await ask(path)).status);
    expect(statuses).toEqual([200, 401, 200]);
    expect((await ask('closed', { headers: bearer(await app.signIn()) })).status).toBe(200);
  });
});

describe('middleware, sockets and uploads', () => {
  it('configure(consumer) runs, and may refuse, fail and answer', async () => {
    expect((await ask('rest/middleware')).body.data).toEqual({ passed: true });
    const refused = await ask('rest/middleware/refused');
    expect([refused.status, refused.body]).toEqual([
      401,
      { success: false, error: 'Not by this way', message: 'Not by this way', code: 'unauthorized' },
    ]);
    const failed = await ask('rest/middleware/failed');
    expect([failed.status, failed.body]).toEqual([
      500,
      {
        success: false,
        error: 'Internal server error',
        message: 'Internal server error',
        code: 'internal_error',
      },
    ]);
    expect(failed.text).not.toContain('10.0.0.7');
    const answered = await ask('rest/middleware/answered');
    expect([answered.status, answered.text]).toEqual([202, 'answered']);
    for (const { headers } of [refused, failed, answered]) {
      expect(headers.get('x-request-id')).toBeTruthy();
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('a gateway answers on the port of the API', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${app.port}/example/socket`);
    const received = await new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (data: Buffer) => resolve(JSON.parse(data.toString())));
      socket.on('open', () => socket.send(JSON.stringify({ event: 'echo', data: { a: 1 } })));
    });
    socket.close();
    expect(received).toEqual({ event: 'echo', data: { a: 1 } });
  });

  it('files are accepted, and refused when they are too large', async () => {
    const upload = (size: number) => {
      const form = new FormData();
      form.append('file', new Blob(['x'.repeat(size)]), 'x.txt');
      return ask('rest/upload', { method: 'POST', body: form });
    };
    expect((await upload(10)).body.data).toEqual({ name: 'x.txt', size: 10 });
    const { status, body } = await upload(2000);
    expect([status, body]).toEqual([
      413,
      { success: false, error: 'Payload too large', message: 'Payload too large', code: 'payload_too_large' },
    ]);
  });
});

describe('overrides', () => {
  const other = useApp(undefined, {
    modules: [ExampleModule],
    prepare,
    override: (builder) =>
      builder
        .overrideGuard(NobodyGuard)
        .useValue({ canActivate: () => true })
        .overrideProvider(JwtAuthGuard)
        .useValue({ canActivate: () => true })
        .overrideProvider(HealthService)
        .useValue({ report: () => ({ overridden: true }) }),
  });
  beforeAll(() => other.listen());

  it('replace guards, the global one too, and providers', async () => {
    expect((await ask('rest/guarded')).status).toBe(403);
    expect((await ask('rest/guarded', {}, other)).body).toEqual({ success: true, data: 'in' });
    expect((await app.get('/analytics/pools')).status).toBe(401);
    expect((await other.get('/analytics/pools')).status).toBe(200);
    const health = await other.nest.inject({ method: 'GET', url: '/health' });
    expect(health.json()).toEqual({ overridden: true });
  });
});

describe('the Logger', () => {
  const lines: string[] = [];
  const sink = { write: (line: string) => void lines.push(line) };
  const logger = createLogger('trace', false, sink);
  const logging = useApp({}, { modules: [ExampleModule], prepare, logger });
  beforeAll(() => logging.listen());

  it('keeps what it is given, with the id and the trace of the request, and no secrets', async () => {
    const before = lines.length;
    const trace = { traceId: 'af'.repeat(16), parentId: 'b7'.repeat(8) };
    const headers = {
      traceparent: `00-${trace.traceId}-${trace.parentId}-01`,
      'x-request-id': 'the-logging-one',
      'content-type': 'application/json',
      authorization: 'Bearer secret-value',
    };
    await ask('rest/log', { method: 'POST', body: '{}', headers }, logging);
    await until(() => lines.slice(before).some((line) => line.includes('"msg":"request"')));
    const log = lines.slice(before);
    expect(log.join('')).not.toContain('secret-value');
    const entries = log
      .map((line) => JSON.parse(line) as Record<string, any>)
      .filter(({ reqId }) => reqId === 'the-logging-one');
    for (const entry of entries) expect(entry).toMatchObject(trace);
    const data = { authorization: '[redacted]', 'content-type': 'application/json' };
    expect(entries).toMatchObject([
      { level: 'warn', msg: 'careful', context: 'Example', data },
      { level: 'info', msg: 'static', context: 'Elsewhere' },
      { level: 'info', msg: 'later', context: 'Example' },
      { msg: 'request' },
    ]);
  });
});

describe('TypeORM', () => {
  beforeAll(async () => {
    await app.sql(
      `CREATE TABLE example_notes (id uuid PRIMARY KEY, text text NOT NULL, pool_id uuid NOT NULL);
      GRANT SELECT, INSERT ON example_notes TO savings_api`,
    );
  });

  it('injects the repository of any entity where the module of its feature is imported', async () => {
    const user = await app.signIn();
    await app.createPool(user);
    const { status, body } = await ask('repositories/census', { headers: bearer(user) });
    expect(status).toBe(200);
    expect(Object.keys(body.data as object).sort()).toEqual(['draws', 'pools', 'transactions', 'users']);
    expect(body.data).toMatchObject({ draws: 0, pools: (await app.sql('SELECT FROM pools')).length });
    expect(body.data.transactions).toBeGreaterThan(0);
  });

  it('finds entities that are not in src, with relations to those that are, beside an exported service', async () => {
    const [user, stranger] = [await app.signIn(), await app.signIn()];
    const { id } = await app.createPool(user);
    const path = `repositories/pools/${id}/notes`;
    const note = (as: { token: string }): Promise<Answer> =>
      ask(path, {
        method: 'POST',
        body: JSON.stringify({ text: 'for the roof' }),
        headers: { 'content-type': 'application/json', ...bearer(as) },
      });
    expect((await note(user)).status).toBe(201);
    expect((await note(stranger)).status).toBe(403);
    const { body } = await ask(path, { headers: bearer(user) });
    expect(body.data).toMatchObject([
      { text: 'for the roof', pool: { id, owner: { address: user.address } } },
    ]);
  });
});

describe('events', () => {
  it('of pools, ledger and draws come to the methods that ask for them', async () => {
    const { sent } = app.nest.get(Greetings, { strict: false });
    const consumers = `SELECT FROM outbox_consumers WHERE name LIKE 'example.%'`;
    await until(async () => (await app.sql(consumers)).length === 2);
    const user = await app.signIn();
    const { id } = (await app.createPool(user)) as { id: string };
    await addTransaction(app, { poolId: id, account: user.address, amount: '5' });
    const expected = [`${user.address} opened ${id} with ${TEN}`, `${user.address} paid 5`];
    await until(() => expected.every((line) => sent.includes(line)));
    expect(sent.filter((line) => expected.includes(line))).toHaveLength(2);
  });
});
