import { Client } from 'pg';
import { Webhook as Library } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { ExpiredRows } from '#platform/database/expired-rows';
import { type Response, type SignedIn, until, useApp } from './support/app';
import { addTransaction } from './support/ledger';
import { Receiver, isSigned } from './support/receiver';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const receivers: Receiver[] = [];
let owner: SignedIn;

const receiver = async (): Promise<Receiver> => {
  const started = await new Receiver().start();
  receivers.push(started);
  return started;
};
const send = (
  method: string,
  url: string,
  body?: unknown,
  as: { token: string } = owner,
): Promise<Response> => app.send({ method, url, body, as });
const activate = (id: string): Promise<unknown> =>
  app.sql(`UPDATE webhooks SET status = 'ACTIVE' WHERE id = $1`, [id]);
async function subscribe(url: string, fields: object = {}): Promise<{ id: string; secret: string }> {
  const { status, body } = await app.post('/webhooks', { url, ...fields }, owner);
  expect(status).toBe(201);
  await activate(body.data.id as string);
  return body.data as { id: string; secret: string };
}
const shown = async (id: string): Promise<Record<string, unknown>> =>
  (await app.get(`/webhooks/${id}`, owner)).body.data as Record<string, unknown>;
const deliveries = async (id: string): Promise<Record<string, unknown>[]> =>
  (await app.get(`/webhooks/${id}/deliveries`, owner)).body.data as Record<string, unknown>[];
/** Without the challenges that it is sent. */
const tests = ({ received }: Receiver): Receiver['received'] =>
  received.filter(({ body }) => (JSON.parse(body) as { topic?: string }).topic === 'test');
const test = async (id: string): Promise<void> => {
  expect((await send('POST', `/webhooks/${id}/test`)).status).toBe(202);
};

beforeEach(async () => {
  owner = await app.signIn();
});
afterEach(async () => {
  await app.sql('DELETE FROM webhooks');
  for (const each of receivers.splice(0)) await each.stop();
});

describe('a test event', () => {
  it('is sent once, signed, and its result is in the list', async () => {
    const target = await receiver();
    const { id, secret } = await subscribe(target.url, { topics: ['draw.opened'] });
    const { status, body } = await send('POST', `/webhooks/${id}/test`);
    expect([status, body.data]).toMatchObject([202, { topic: 'test', status: 'PENDING', attempts: 0 }]);
    await until(() => tests(target).length > 0);
    const [received] = tests(target);
    expect(isSigned(received, secret)).toBe(true);
    expect(new Library(secret).verify(received.body, received.headers as Record<string, string>)).toEqual({
      id: body.data.eventId,
      topic: 'test',
      occurredAt: body.data.createdAt,
    });
    expect(received.headers['webhook-id']).toBe(body.data.id);
    await until(async () => (await deliveries(id))[0].status === 'DELIVERED');
    expect(await deliveries(id)).toMatchObject([{ id: body.data.id, topic: 'test', lastStatus: 204 }]);
    expect(await app.sql('SELECT FROM webhook_events WHERE id = $1', [body.data.eventId])).toEqual([]);
  });

  it('has its place among events, and an id that none of them has', async () => {
    const target = await receiver();
    const { id } = await subscribe(target.url);
    const pool = (await app.createPool(owner)) as { id: string };
    await until(async () => (await deliveries(id)).some(({ topic }) => topic === 'pool.created'));
    await test(id);
    await until(() => tests(target).length > 0);
    await addTransaction(app, { poolId: pool.id, account: owner.address });
    await until(async () => (await deliveries(id)).some(({ topic }) => topic === 'deposit.confirmed'));
    expect((await deliveries(id)).map(({ topic }) => topic)).toEqual([
      'deposit.confirmed',
      'test',
      'pool.created',
    ]);
    for (const { eventId } of await deliveries(id))
      expect(eventId).toMatch(/^[0-9a-f]{12}-[0-9a-f]{12}-[0-9a-f]{4}$/);
  });

  it('that fails is not tried again, so the next one can be asked for', async () => {
    const target = await receiver();
    const { id } = await subscribe(target.url);
    target.answer = (response) => response.writeHead(500).end();
    for (const n of [1, 2]) {
      await activate(id);
      await test(id);
      await until(
        async () => (await deliveries(id)).filter(({ status }) => status === 'FAILED').length === n,
      );
    }
    expect(tests(target)).toHaveLength(2);
    expect(await deliveries(id)).toMatchObject([
      { status: 'FAILED', attempts: 1, lastError: 'status 500', nextAttemptAt: null },
      { status: 'FAILED', attempts: 1 },
    ]);
  });

  it('is one at a time, also of 100 that are asked for at once', async () => {
    const target = await receiver();
    const held: (() => void)[] = [];
    target.answer = (response) => held.push(() => response.writeHead(204).end());
    const { id } = await subscribe(target.url);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => send('POST', `/webhooks/${id}/test`)),
    );
    const taken = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ body }) => body.code === 'webhook_test_pending');
    // The rest gave up waiting for its turn.
    expect([taken.length, answers.filter(({ status }) => status === 503).length + refused.length]).toEqual([
      1, 99,
    ]);
    await until(() => held.length > 0);
    expect((await send('POST', `/webhooks/${id}/test`)).body.code).toBe('webhook_test_pending');
    held[0]();
    await until(async () => (await deliveries(id))[0].status === 'DELIVERED');
    expect(tests(target)).toHaveLength(1);
    await test(id);
  });

  it.each(['UNVERIFIED', 'PAUSED', 'DISABLED'])('is refused while the webhook is %s', async (status) => {
    const target = await receiver();
    const { id } = await subscribe(target.url);
    await app.sql(`UPDATE webhooks SET status = $2, retry_at = 'infinity' WHERE id = $1`, [id, status]);
    const answer = await send('POST', `/webhooks/${id}/test`);
    expect([answer.status, answer.body.code]).toEqual([409, 'webhook_not_active']);
    expect(await deliveries(id)).toEqual([]);
  });
});

describe('a webhook that is changed', () => {
  it('keeps what is left out, and answers with itself when nothing changes', async () => {
    const { id } = await subscribe('http://LocalHost:80/hook#part', { topics: ['pool.created'] });
    const before = await shown(id);
    expect(before).toMatchObject({ url: 'http://localhost/hook', status: 'ACTIVE' });
    for (const body of [
      {},
      { url: null, enabled: null },
      { url: 'http://LOCALHOST/hook' },
      { enabled: true },
      { topics: ['pool.created'] },
      { other: 1 },
    ]) {
      const answer = await send('PATCH', `/webhooks/${id}`, body);
      expect([answer.status, answer.body.data]).toEqual([200, before]);
    }
  });

  it('has to prove itself again at another URL, and forgets how the one before failed', async () => {
    const { id } = await subscribe('http://localhost:1/');
    await app.sql(
      `UPDATE webhooks SET status = 'PAUSED', failures = 7, failing_since = now(), last_error = 'status 500',
         retry_at = now() + interval '1 hour' WHERE id = $1`,
      [id],
    );
    expect(await shown(id)).toMatchObject({
      status: 'PAUSED',
      failures: 7,
      failingSince: expect.any(String) as unknown,
      lastError: 'status 500',
      retryAt: expect.any(String) as unknown,
    });
    const { status, body } = await send('PATCH', `/webhooks/${id}`, { url: 'https://münchen.example./a' });
    expect([status, body.data]).toMatchObject([
      200,
      {
        url: 'https://xn--mnchen-3ya.example./a',
        status: 'UNVERIFIED',
        failures: 0,
        failingSince: null,
        lastError: null,
        retryAt: null,
      },
    ]);
    expect(await app.sql('SELECT host FROM webhooks')).toEqual([{ host: 'xn--mnchen-3ya.example' }]);
  });

  it('is sent nothing while it has not, and what waited goes to the new URL afterwards', async () => {
    const [old, next] = [await receiver(), await receiver()];
    const { id } = await subscribe(old.url);
    await app.sql(`UPDATE webhooks SET status = 'UNVERIFIED', retry_at = 'infinity' WHERE id = $1`, [id]);
    await app.sql(
      `INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic) VALUES ($1, $2, 'x', 'test')`,
      [uuidv7(), id],
    );
    expect((await send('PATCH', `/webhooks/${id}`, { url: next.url })).status).toBe(200);
    await activate(id);
    await until(() => tests(next).length > 0);
    expect(tests(old)).toEqual([]);
  });

  it('while something is sent to it, is judged by nothing that comes from the URL before', async () => {
    const target = await receiver();
    for (const status of [204, 500]) {
      const held: (() => void)[] = [];
      target.answer = (response) => held.push(() => response.writeHead(status).end());
      const { id } = await subscribe(target.url);
      await test(id);
      await until(() => held.length > 0);
      await send('PATCH', `/webhooks/${id}`, { url: 'http://127.0.0.1:1/' });
      held.forEach((answer) => answer());
      await until(async () => (await deliveries(id))[0].status !== 'PENDING');
      expect(await shown(id)).toMatchObject({ status: 'UNVERIFIED', url: 'http://127.0.0.1:1/' });
    }
  });

  it('gets the topics that it wants from then on', async () => {
    const target = await receiver();
    const { id } = await subscribe(target.url, { topics: ['draw.opened'] });
    const answer = await send('PATCH', `/webhooks/${id}`, { topics: ['pool.created'] });
    expect(answer.body.data).toMatchObject({ topics: ['pool.created'], status: 'ACTIVE' });
    await app.createPool(owner);
    await until(async () => (await deliveries(id)).some(({ topic }) => topic === 'pool.created'));
    expect((await send('PATCH', `/webhooks/${id}`, { topics: null })).body.data).toMatchObject({
      topics: null,
    });
  });

  it('can be switched off and on, which begins with a challenge', async () => {
    const target = await receiver();
    const { id } = await subscribe(target.url);
    const off = await send('PATCH', `/webhooks/${id}`, { enabled: false });
    expect(off.body.data).toMatchObject({ status: 'DISABLED', failingSince: null, retryAt: null });
    await app.createPool(owner);
    const other = await subscribe(target.url);
    await app.createPool(owner);
    await until(async () => (await deliveries(other.id)).length > 0);
    expect(await deliveries(id)).toEqual([]);
    // It can be changed meanwhile, and stays off.
    const moved = await send('PATCH', `/webhooks/${id}`, { url: `${target.url}/2` });
    expect(moved.body.data).toMatchObject({ status: 'DISABLED', url: `${target.url}/2` });
    const on = await send('PATCH', `/webhooks/${id}`, { enabled: true });
    expect(on.body.data).toMatchObject({ status: 'UNVERIFIED' });
  });

  it.each([
    [{ url: 'ftp://example.org/' }, 'url'],
    [{ url: 'https://user@example.org/' }, 'url'],
    [{ url: 'https://.../' }, 'url'],
    [{ url: `https://example.org/${'ä'.repeat(1000)}` }, 'url'],
    [{ url: 7 }, 'url'],
    [{ topics: [] }, 'topics'],
    [{ topics: ['test'] }, 'topics'],
    [{ enabled: 'no' }, 'enabled'],
  ])('is not changed by %j', async (body, field) => {
    const { id } = await subscribe('http://localhost:1/');
    const before = await shown(id);
    const answer = await send('PATCH', `/webhooks/${id}`, { topics: ['pool.created'], ...body });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect((answer.body.details as { field: string }[])[0].field).toMatch(new RegExp(`^${field}`));
    expect(await shown(id)).toEqual(before);
  });

  it('is unknown to others, and to its owner under another id', async () => {
    const { id } = await subscribe('http://localhost:1/');
    const other = await app.signIn();
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { enabled: false }],
      ['POST', '/secret'],
      ['POST', '/test'],
    ] as const) {
      expect((await send(method, `/webhooks/${id}${path}`, body, other)).status).toBe(404);
      expect((await app.send({ method, url: `/webhooks/${id}${path}`, body })).status).toBe(401);
      for (const unknown of [uuidv7(), 'x'])
        expect((await send(method, `/webhooks/${unknown}${path}`, body)).status).toBe(404);
    }
    expect(await shown(id)).toMatchObject({ status: 'ACTIVE' });
    expect((await shown(id.toUpperCase())).id).toBe(id);
  });
});

describe('a secret', () => {
  const rotate = async (id: string): Promise<{ secret: string; previousSecretUntil: string }> => {
    const { status, body, text } = await send('POST', `/webhooks/${id}/secret`);
    expect([status, body.data.id]).toEqual([200, id]);
    expect((await app.get('/webhooks', owner)).text).not.toContain(body.data.secret);
    expect(text).not.toContain('"previousSecret"');
    return body.data as { secret: string; previousSecretUntil: string };
  };
  const verifies = ({ body, headers }: Receiver['received'][number], secret: string): boolean => {
    try {
      new Library(secret).verify(body, headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };

  it('signs beside the new one for a day, and the one before it no more', async () => {
    const target = await receiver();
    const { id, secret: first } = await subscribe(target.url);
    const { secret: second } = await rotate(id);
    const { secret: third, previousSecretUntil } = await rotate(id);
    expect(Date.parse(previousSecretUntil) - Date.now()).toBeGreaterThan(86_300_000);
    expect(Date.parse(previousSecretUntil) - Date.now()).toBeLessThanOrEqual(86_400_000);
    expect(await shown(id)).toMatchObject({ previousSecretUntil });
    await test(id);
    await until(() => tests(target).length > 0);
    expect([first, second, third].map((secret) => verifies(tests(target)[0], secret))).toEqual([
      false,
      true,
      true,
    ]);
    expect(String(tests(target)[0].headers['savings-signature'])).toMatch(/^t=\d+(,v1=[0-9a-f]{64}){2}$/);
  });

  it('signs no more when the day is over, and is removed', async () => {
    const target = await receiver();
    const { id, secret: old } = await subscribe(target.url);
    const { secret } = await rotate(id);
    const later = await subscribe(target.url);
    await rotate(later.id);
    await app.sql('UPDATE webhooks SET previous_secret_until = now() WHERE id = $1', [id]);
    expect(await shown(id)).toMatchObject({ previousSecretUntil: null });
    await test(id);
    await until(() => tests(target).length > 0);
    expect([old, secret].map((each) => verifies(tests(target)[0], each))).toEqual([false, true]);
    await app.nest.get(ExpiredRows).sweep();
    expect(
      await app.sql('SELECT id, previous_secret_until FROM webhooks WHERE previous_secret IS NOT NULL'),
    ).toEqual([{ id: later.id, previous_secret_until: expect.any(Date) as unknown }]);
  });

  it('that is rotated while something is sent leaves that as it is, and signs what comes again', async () => {
    const target = await receiver();
    const held: (() => void)[] = [];
    target.answer = (response) => held.push(() => response.writeHead(204).end());
    const { id, secret: old } = await subscribe(target.url);
    await test(id);
    await until(() => held.length > 0);
    const answers = await Promise.all([rotate(id), rotate(id), rotate(id)]);
    held.forEach((answer) => answer());
    await until(async () => (await deliveries(id))[0].status === 'DELIVERED');
    expect(verifies(tests(target)[0], old)).toBe(true);
    target.answer = (response) => response.writeHead(204).end();
    await send('POST', `/webhooks/${id}/deliveries/${String((await deliveries(id))[0].id)}/retry`);
    await until(() => tests(target).length > 1);
    // Of three that were made at once, the last two.
    expect(answers.filter(({ secret }) => verifies(tests(target)[1], secret))).toHaveLength(2);
    expect(verifies(tests(target)[1], old)).toBe(false);
  });
});

describe('ending all sessions', () => {
  const logout = (body?: unknown): Promise<Response> => send('POST', '/auth/logout/all', body);

  it.each([undefined, {}, { webhooks: false }, { webhooks: null }])(
    'lists the webhooks, which stay: %j',
    async (body) => {
      const first = await subscribe('http://localhost:1/1');
      const second = await subscribe('http://localhost:1/2');
      const answer = await logout(body);
      expect(answer.body.data).toEqual({
        ended: 'all',
        webhooks: [
          { id: second.id, url: 'http://localhost:1/2', ended: false },
          { id: first.id, url: 'http://localhost:1/1', ended: false },
        ],
      });
      expect(await app.sql('SELECT FROM webhooks')).toHaveLength(2);
    },
  );

  it('ends them if it is told to, and no other user’s', async () => {
    const { id } = await subscribe('http://localhost:1/1');
    const [first, other] = [owner, await app.signIn()];
    owner = other;
    await subscribe('http://localhost:1/2');
    owner = first;
    expect((await logout({ webhooks: true })).body.data).toEqual({
      ended: 'all',
      webhooks: [{ id, url: 'http://localhost:1/1', ended: true }],
    });
    expect(await app.sql('SELECT user_id FROM webhooks')).toEqual([{ user_id: other.user.id }]);
  });

  it('does neither for a body that says something else', async () => {
    await subscribe('http://localhost:1/1');
    for (const webhooks of ['yes', 1, {}, [true]]) {
      const answer = await logout({ webhooks });
      expect([answer.status, answer.body.details]).toMatchObject([400, [{ field: 'webhooks' }]]);
    }
    expect((await app.get('/auth/me', owner)).status).toBe(200);
    expect(await app.sql('SELECT FROM webhooks')).toHaveLength(1);
  });

  it.each([
    ['made', 'POST', '', { url: 'https://evil.example/' }],
    ['moved', 'PATCH', '/:id', { url: 'https://evil.example/' }],
    ['given another secret', 'POST', '/:id/secret', undefined],
    ['tested', 'POST', '/:id/test', undefined],
  ])('leaves no moment in which a webhook is %s unseen', async (_what, method, path, body) => {
    const { id } = await subscribe('http://localhost:1/');
    const rows = (): Promise<unknown> =>
      app.sql('SELECT id, url, secret, (SELECT count(*) FROM webhook_deliveries) FROM webhooks');
    const before = await rows();
    const ending = new Client({ connectionString: app.database.url });
    await ending.connect();
    // The request has been found good, as at a replica that has not heard of the end yet.
    await ending.query('BEGIN');
    await ending.query('UPDATE users SET session_generation = session_generation + 1 WHERE id = $1', [
      owner.user.id,
    ]);
    const late = send(method, `/webhooks${path.replace(':id', id)}`, body);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await until(async () => (await app.sql(waiting)).length > 0);
    await ending.query('COMMIT');
    await ending.end();
    const answer = await late;
    expect([answer.status, answer.body.code]).toEqual([401, 'token_revoked']);
    expect(await rows()).toEqual(before);
  });
});
