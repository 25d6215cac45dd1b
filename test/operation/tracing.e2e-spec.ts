import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AsyncLocalStorage } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';
import type { StatementCall } from '#platform/database/database';
import { type SignedIn, TEN, useApp } from '../support/app';

interface Span {
  request: string | undefined;
  statement: string;
  kind: string;
  rows?: number;
  error?: unknown;
  ms?: number;
}

/** The request that is being answered. */
const current = new AsyncLocalStorage<string>();
const prepare = (app: NestFastifyApplication): void => {
  const fastify = app.getHttpAdapter().getInstance();
  // Behind the body, whose events come in the socket's context.
  fastify.addHook('preValidation', (request, _reply, done) =>
    current.run(`${request.method} ${request.url} ${String(request.headers['x-number'] ?? '')}`.trim(), done),
  );
};
const app = useApp({}, { prepare });
let user: SignedIn;
beforeAll(async () => (user = await app.signIn()));

const channel = tracingChannel<unknown, StatementCall>('database:statement');

/** The spans of statements that requests made meanwhile, as a subscriber makes them. */
async function spansOf(work: () => Promise<unknown>): Promise<Span[]> {
  const spans = new Map<StatementCall, Span & { begun: number }>();
  const subscriber = {
    start: (call: StatementCall): void => {
      const { name, kind } = call;
      spans.set(call, { request: current.getStore(), statement: name, kind, begun: performance.now() });
    },
    error: (call: StatementCall): unknown => Object.assign(spans.get(call) ?? {}, { error: call.error }),
    asyncEnd: (call: StatementCall): void => {
      const span = spans.get(call);
      // Background work that began under an earlier subscriber.
      if (!span) return;
      span.ms = performance.now() - span.begun;
      if (Array.isArray(call.result)) span.rows = call.result.length;
    },
    end: () => undefined,
    asyncStart: () => undefined,
  };
  channel.subscribe(subscriber);
  try {
    await work();
  } finally {
    channel.unsubscribe(subscriber);
  }
  // Background work has no request.
  return [...spans.values()].filter(({ request }) => request !== undefined);
}

it('shows reads by name, in the request that made them', async () => {
  const spans = await spansOf(() =>
    Promise.all([
      app.send({ url: '/pools', as: user, headers: { 'x-number': '1' } }),
      app.send({ url: '/pools', as: user, headers: { 'x-number': '2' } }),
    ]),
  );
  for (const number of [1, 2])
    expect(spans).toContainEqual(
      expect.objectContaining({
        request: `GET /pools ${number}`,
        statement: 'list_pools',
        kind: 'read',
        rows: 1,
        ms: expect.any(Number) as number,
      }),
    );
});

it('shows writes, also those that are joined with writes of others', async () => {
  const spans = await spansOf(() =>
    Promise.all(
      [1, 2, 3].map((number) =>
        app.send({
          method: 'POST',
          url: '/pools',
          body: { type: 'rotating', initialDeposit: TEN },
          headers: { 'x-number': `${number}` },
          as: user,
        }),
      ),
    ),
  );
  const joined = spans.filter(({ statement }) => statement === 'create_pools');
  expect(joined.map(({ request }) => request).sort()).toEqual(
    [1, 2, 3].map((number) => `POST /pools ${number}`),
  );
  for (const span of joined)
    expect(span).toMatchObject({ kind: 'joined', rows: expect.any(Number) as number });
  // Beside it there may be one that asks whether the session goes on.
  expect(await spansOf(() => app.send({ method: 'POST', url: '/auth/logout', as: user }))).toContainEqual(
    expect.objectContaining({ kind: 'write', request: 'POST /auth/logout' }),
  );
  user = await app.signIn();
});

it('shows why a statement failed', async () => {
  await app.sql('ALTER TABLE pool_totals RENAME TO gone; ALTER TABLE pools RENAME TO gone_too');
  try {
    const spans = await spansOf(() => app.get('/pools', user));
    expect(spans).toContainEqual(
      expect.objectContaining({
        request: 'GET /pools',
        statement: 'list_pools',
        error: expect.objectContaining({ code: '42P01' }) as object,
      }),
    );
  } finally {
    await app.sql('ALTER TABLE gone RENAME TO pool_totals; ALTER TABLE gone_too RENAME TO pools');
  }
});

it('tells nobody after that', async () => {
  expect(channel.hasSubscribers).toBe(false);
  const spans = await spansOf(() => Promise.resolve());
  await app.get('/pools', user);
  expect(spans).toEqual([]);
});
