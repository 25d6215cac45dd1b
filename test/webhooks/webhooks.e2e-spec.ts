import { v7 as uuidv7 } from 'uuid';
import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { CLAIM_DELIVERIES } from '#extensions/webhooks/deliveries.sql';
import { WebhooksSettings } from '#extensions/webhooks/webhooks.settings';
import { until, useApp } from '../support/app';
import { addTransaction } from '../support/ledger';
import { isSigned } from '../support/events/receiver';
import { type CreatedWebhook, Webhooks, goForward } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const webhooks = new Webhooks(app);
let pool: string;

const TOPICS = { topics: ['deposit.confirmed'] };
const deposit = (): Promise<{ id: string }> =>
  addTransaction(app, { poolId: pool, account: webhooks.owner.address });

beforeEach(async () => {
  ({ id: pool } = (await app.createPool(webhooks.owner)) as { id: string });
});

describe('a webhook', () => {
  it('gets the events of its topics, signed with its secret, which is shown once', async () => {
    const target = await webhooks.receiver();
    const webhook = await webhooks.subscribe(target.url, TOPICS);
    const item = {
      id: webhook.id,
      url: target.url,
      topics: ['deposit.confirmed'],
      createdAt: expect.any(String) as unknown,
      status: 'UNVERIFIED',
      failures: 0,
      failingSince: null,
      lastError: null,
      retryAt: null,
      pending: 0,
      isFull: false,
      previousSecretUntil: null,
    };
    const secret = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as unknown;
    expect(webhook).toEqual({ ...item, secret });
    await app.createPool(webhooks.owner);
    const { id } = await deposit();
    await until(() => target.received.length > 0);
    const [received] = target.received;
    expect(isSigned(received, webhook.secret)).toBe(true);
    expect(received.headers['content-type']).toBe('application/json');
    expect(target.events[0]).toMatchObject({ topic: 'deposit.confirmed', transactionId: id, poolId: pool });
    await until(async () => (await webhooks.delivery(webhook.id)).status === 'DELIVERED');
    expect(await webhooks.deliveries(webhook.id)).toEqual([
      {
        id: received.headers['webhook-id'],
        eventId: target.events[0].id,
        topic: 'deposit.confirmed',
        status: 'DELIVERED',
        attempts: 1,
        lastStatus: 204,
        lastError: null,
        nextAttemptAt: null,
        createdAt: expect.any(String) as unknown,
        deliveredAt: expect.any(String) as unknown,
      },
    ]);
    const listed = await app.get('/webhooks', webhooks.owner);
    expect(listed.body.data).toEqual([{ ...item, status: 'ACTIVE' }]);
    expect(listed.text).not.toContain(webhook.secret);
  });

  it('gets nothing more once it is deleted', async () => {
    const target = await webhooks.receiver();
    target.answer = (response) => response.writeHead(500).end();
    const { id } = await webhooks.subscribe(target.url, TOPICS);
    await deposit();
    await until(async () => (await webhooks.delivery(id))?.lastStatus === 500);
    const { status, body } = await webhooks.send('DELETE', `/webhooks/${id}`);
    expect([status, body.data]).toEqual([200, { id }]);
    await deposit();
    const other = await webhooks.receiver();
    await webhooks.subscribe(other.url, TOPICS);
    await deposit();
    await until(() => other.received.length > 0);
    expect(target.received).toHaveLength(1);
    expect((await webhooks.send('DELETE', `/webhooks/${id}`)).status).toBe(404);
  });

  it('is one of ten at most, also of those that are made at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => app.post('/webhooks', { url: 'http://127.0.0.2:1/' }, webhooks.owner)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array<number>(10).fill(201),
      ...Array<number>(5).fill(409),
    ]);
    expect(answers.find(({ status }) => status === 409)!.body).toMatchObject({ code: 'conflict' });
    const page = await app.get('/webhooks?limit=4&page=3', webhooks.owner);
    expect(page.body.pagination).toEqual({ page: 3, limit: 4, total: 10, pages: 3 });
    expect(page.body.data).toHaveLength(2);
    const [{ id }] = page.body.data as CreatedWebhook[];
    await webhooks.send('DELETE', `/webhooks/${id}`);
    await webhooks.create('http://127.0.0.2:1/');
  });

  it.each([
    [{ url: 'https://user:password@example.org/' }, 'url'],
    [{ url: 7 }, 'url'],
    [{}, 'url'],
    [{ url: 'https://example.org/', topics: [] }, 'topics'],
    [{ url: 'https://example.org/', topics: ['pool.created', 'pool.created'] }, 'topics'],
    [{ url: 'https://example.org/', topics: ['pools'] }, 'topics'],
    [{ url: 'https://example.org/', topics: 'pool.created' }, 'topics'],
  ])('is refused: %j', async (body, field) => {
    const answer = await app.post('/webhooks', body, webhooks.owner);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect((answer.body.details as { field: string }[])[0].field).toMatch(new RegExp(`^${field}`));
  });

  it('leads to a public address', async () => {
    const allowed = jest.replaceProperty(app.nest.get(WebhooksSettings), 'WEBHOOK_ALLOW_PRIVATE', false);
    const { status, body } = await app.post('/webhooks', { url: 'http://127.0.0.1/' }, webhooks.owner);
    allowed.restore();
    expect([status, body.details]).toEqual([
      400,
      [{ field: 'url', message: 'must not lead to a private address' }],
    ]);
  });
});

describe('a delivery that fails', () => {
  it('comes again after the waits of the settings, with the same id and body, then has failed', async () => {
    const target = await webhooks.receiver();
    target.answer = (response) => response.writeHead(503).end('down for 5 minutes');
    const webhook = await webhooks.subscribe(target.url, TOPICS);
    const { WEBHOOK_RETRY_SECONDS: settled } = app.nest.get(WebhooksSettings);
    const clock = async (): Promise<number> =>
      (await app.sql<{ now: number }>(`SELECT date_part('epoch', clock_timestamp()) AS now`))[0].now;
    let began = await clock();
    await deposit();
    for (let attempt = 1; attempt <= settled.length + 1; attempt++) {
      // Until its outcome is stored, the webhook is taken.
      const finished = (): Promise<{ next: number; due: number }[]> =>
        app.sql(
          `SELECT date_part('epoch', d.next_attempt_at) AS next,
             date_part('epoch', greatest(d.next_attempt_at, w.retry_at)) AS due
           FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
           WHERE w.id = $1 AND d.attempts = $2 AND w.taken_until <= now()`,
          [webhook.id, attempt],
        );
      await until(async () => (await finished()).length > 0);
      expect(await webhooks.delivery(webhook.id)).toMatchObject({
        status: attempt > settled.length ? 'FAILED' : 'PENDING',
        lastStatus: 503,
        lastError: 'status 503',
        deliveredAt: null,
      });
      if (attempt > settled.length) break;
      const [{ next, due }] = await finished();
      const ended = await clock();
      const wait = settled[attempt - 1];
      expect(next).toBeGreaterThanOrEqual(began + wait * 0.75);
      expect(next).toBeLessThanOrEqual(ended + wait * 1.25);
      expect(target.received).toHaveLength(attempt);
      began = ended;
      await goForward(app, webhook.id, `${Math.ceil(due - began)} seconds`);
    }
    expect(target.received).toHaveLength(settled.length + 1);
    expect(new Set(target.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(target.received.map(({ body }) => body)).size).toBe(1);
    for (const each of target.received) expect(isSigned(each, webhook.secret)).toBe(true);
  });

  it('can be sent again, and one that was delivered too', async () => {
    const target = await webhooks.receiver();
    target.answer = (response) => response.writeHead(500).end();
    const webhook = await webhooks.subscribe(target.url, TOPICS);
    await deposit();
    await until(async () => (await webhooks.delivery(webhook.id))?.lastStatus === 500);
    await app.sql(`UPDATE webhook_deliveries SET status = 'FAILED' WHERE webhook_id = $1`, [webhook.id]);
    target.answer = (response) => response.writeHead(200).end('ok');
    const { id } = await webhooks.delivery(webhook.id);
    for (const attempts of [2, 3]) {
      const { status, body } = await webhooks.retry(webhook.id, id);
      expect([status, body.data]).toMatchObject([202, { id, status: 'PENDING', deliveredAt: null }]);
      await until(async () => (await webhooks.delivery(webhook.id)).status === 'DELIVERED');
      expect(await webhooks.delivery(webhook.id)).toMatchObject({
        id,
        attempts,
        lastStatus: 200,
        lastError: null,
      });
      expect(target.received).toHaveLength(attempts);
    }
  });
});

it('what a process had taken that was killed is sent by another one after the lease', async () => {
  const target = await webhooks.receiver();
  const webhook = await webhooks.subscribe(target.url, TOPICS);
  const id = uuidv7();
  // As the process leaves it that claimed it and sent nothing.
  await app.sql(
    `WITH event AS (INSERT INTO webhook_events (id, body) VALUES ('x', '{}'))
     INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, attempts, next_attempt_at)
     VALUES ($1, $2, 'x', 'pool.created', 0, 'infinity')`,
    [id, webhook.id],
  );
  await app.sql(
    `WITH webhook AS (UPDATE webhooks SET taken_until = now() + interval '1 hour' WHERE id = $2)
     UPDATE webhook_deliveries SET attempts = 1, next_attempt_at = now() + interval '1 hour' WHERE id = $1`,
    [id, webhook.id],
  );
  const claim = { webhooks: [webhook.id], lanes: ['quick' as const], most: [4] };
  expect(await app.nest.get(Database).writeAll(CLAIM_DELIVERIES, claim)).toEqual([]);
  expect(target.received).toEqual([]);
  await goForward(app, webhook.id, '1 hour');
  await until(async () => (await webhooks.delivery(webhook.id)).status === 'DELIVERED');
  expect(await webhooks.delivery(webhook.id)).toMatchObject({ attempts: 2 });
  expect(target.received).toHaveLength(1);
});

it('deliveries are kept for seven days', async () => {
  const webhook = await webhooks.subscribe('http://127.0.0.2:1/', TOPICS);
  for (const [id, age] of [
    ['old', '7 days 1 second'],
    ['young', '6 days 23 hours'],
  ])
    await app.sql(
      `INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, status, created_at)
       VALUES ($1, $2, $3, 'pool.created', 'FAILED', now() - $4::interval)`,
      [uuidv7(), webhook.id, id, age],
    );
  // The service's own sweep may be at it.
  await until(async () => {
    await app.nest.get(ExpiredRows).sweep();
    return (await webhooks.deliveries(webhook.id)).length === 1;
  });
  expect((await webhooks.deliveries(webhook.id)).map(({ eventId }) => eventId)).toEqual(['young']);
});
