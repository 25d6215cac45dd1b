import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pino from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { TOPICS, type Topic } from '#ledger/outbox/ledger-event';
import { CLAIM_DELIVERIES } from '#features/webhooks/deliveries.sql';
import { Pace } from '#features/receivers/slots';
import { WebhookFanOut } from '#features/webhooks/webhook-fan-out';
import { createApp } from '#api/app.setup';
import { type SignedIn, settings, until, useApp } from '../support/app';
import { addTransaction } from '../support/ledger';
import { Receiver, isSigned, verified, verify } from '../support/events/receiver';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const receivers: Receiver[] = [];
const receiver = async (): Promise<Receiver> => {
  const started = await new Receiver().start();
  receivers.push(started);
  return started;
};
let owner: SignedIn;
let pool: string;

interface Created {
  id: string;
  secret: string;
}
interface Delivery {
  id: string;
  eventId: string;
  topic: Topic;
  status: string;
  attempts: number;
  lastStatus: number | null;
  lastError: string | null;
  nextAttemptAt: string | null;
  deliveredAt: string | null;
}

async function subscribe(
  user: SignedIn,
  url: string,
  topics: Topic[] | undefined = ['deposit.confirmed'],
): Promise<Created> {
  const { status, body } = await app.post('/webhooks', { url, topics }, user);
  expect(status).toBe(201);
  const { id } = body.data as Created;
  await (receivers.some((each) => each.url === url) ? verified : verify)(app, id);
  return body.data as Created;
}
const deliveries = async (user: SignedIn, { id }: Created): Promise<Delivery[]> =>
  (await app.get(`/webhooks/${id}/deliveries`, user)).body.data as Delivery[];
const only = async (user: SignedIn, webhook: Created): Promise<Delivery> => {
  const [first] = await deliveries(user, webhook);
  return first;
};
const retry = (user: SignedIn, webhook: Created, delivery: string) =>
  app.send({ method: 'POST', url: `/webhooks/${webhook.id}/deliveries/${delivery}/retry`, as: user });
const deposit = (account = owner.address): Promise<{ id: string }> =>
  addTransaction(app, { poolId: pool, account });
/** As if that much time had gone by. */
const goForward = (webhook: Created, interval: string): Promise<unknown> =>
  app.sql(
    `WITH deliveries AS (
       UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at - $2::interval WHERE webhook_id = $1)
     UPDATE webhooks SET retry_at = retry_at - $2::interval, taken_until = taken_until - $2::interval WHERE id = $1`,
    [webhook.id, interval],
  );

beforeAll(async () => {
  // More challenges go unanswered here than one host gets in a minute: `webhook-challenge` is about that.
  jest.spyOn(Pace.prototype, 'allows').mockReturnValue(true);
  // Consumers begin with what comes after them.
  await until(async () => (await app.sql('SELECT FROM outbox_consumers')).length > 0);
});
beforeEach(async () => {
  owner = await app.signIn();
  ({ id: pool } = (await app.createPool(owner)) as { id: string });
});
afterEach(async () => {
  await app.sql('DELETE FROM webhooks');
  for (const each of receivers.splice(0)) await each.stop();
});

describe('a webhook', () => {
  it('gets an event, signed with its secret, which is shown once', async () => {
    const target = await receiver();
    const webhook = await subscribe(owner, target.url);
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
    const { id } = await deposit();
    await until(() => target.received.length > 0);
    const [received] = target.received;
    expect(isSigned(received, webhook.secret)).toBe(true);
    expect(isSigned({ ...received, body: received.body.replace('1000', '9000') }, webhook.secret)).toBe(
      false,
    );
    expect(received.headers['content-type']).toBe('application/json');
    expect(target.events[0]).toMatchObject({ topic: 'deposit.confirmed', transactionId: id, poolId: pool });
    await until(async () => (await only(owner, webhook)).status === 'DELIVERED');
    expect(await deliveries(owner, webhook)).toEqual([
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
    const listed = await app.get('/webhooks', owner);
    expect(listed.body.data).toEqual([{ ...item, status: 'ACTIVE' }]);
    expect(listed.text).not.toContain(webhook.secret);
  });

  it('gets only the topics that it names', async () => {
    const [target, all] = [await receiver(), await receiver()];
    await subscribe(owner, target.url, ['pool.created']);
    await subscribe(owner, all.url, ['pool.created', 'deposit.confirmed']);
    await deposit();
    await app.createPool(owner);
    await until(
      () => all.events.some(({ topic }) => topic === 'deposit.confirmed') && target.received.length > 0,
    );
    expect(new Set(target.events.map(({ topic }) => topic))).toEqual(new Set(['pool.created']));
  });

  it('gets what its owner may read, and nothing else', async () => {
    const [member, payer, stranger] = [await app.signIn(), await app.signIn(), await app.signIn()];
    ({ id: pool } = (await app.createPool(owner, { type: 'cooperative', members: [member.address] })) as {
      id: string;
    });
    const users = [owner, member, payer, stranger];
    const webhooks: Created[] = [];
    const target = await receiver();
    for (const user of users) {
      const { body } = await app.post('/webhooks', { url: target.url }, user);
      expect(body.data).toMatchObject({ topics: null });
      webhooks.push(body.data as Created);
      await verified(app, (body.data as Created).id);
    }
    const draw = { topic: 'draw.opened', drawId: 1, contract: '0x', txHash: '0x', blockNumber: 1 };
    const events = [
      { topic: 'deposit.confirmed', poolId: pool, account: payer.address },
      { topic: 'yield.accrued', poolId: pool },
      { topic: 'transaction.reverted', reverted: 'deposit.confirmed', poolId: pool, account: payer.address },
      { topic: 'tickets.issued', account: payer.address },
      draw,
      { ...draw, topic: 'transaction.reverted', reverted: 'draw.opened' },
    ].map((event, n) => ({ id: `f-${n}`, ...event }));
    const fanOut = app.nest.get(WebhookFanOut);
    await fanOut.onEvents(events as never);
    // At least once, but one delivery.
    await fanOut.onEvents(events as never);
    const got = await Promise.all(
      users.map(async (user, n) =>
        (await deliveries(user, webhooks[n]))
          .map(({ eventId }) => eventId)
          .filter((id) => id.startsWith('f-'))
          .sort(),
      ),
    );
    const draws = ['f-4', 'f-5'];
    expect(got).toEqual([
      ['f-0', 'f-1', 'f-2', ...draws],
      ['f-0', 'f-1', 'f-2', ...draws],
      ['f-0', 'f-2', 'f-3', ...draws],
      draws,
    ]);
    await until(async () => (await deliveries(stranger, webhooks[3])).every((each) => each.deliveredAt));
  });

  it('is unknown to other users', async () => {
    const other = await app.signIn();
    const target = await receiver();
    target.answer = (response) => response.writeHead(500).end();
    const webhook = await subscribe(owner, target.url);
    await deposit();
    await until(async () => (await deliveries(owner, webhook)).length > 0);
    const { id } = await only(owner, webhook);
    const paths = [
      ['DELETE', `/webhooks/${webhook.id}`],
      ['GET', `/webhooks/${webhook.id}/deliveries`],
      ['POST', `/webhooks/${webhook.id}/deliveries/${id}/retry`],
    ];
    for (const [method, url] of paths) {
      expect((await app.send({ method, url, as: other })).status).toBe(404);
      expect((await app.send({ method, url })).status).toBe(401);
      expect((await app.send({ method, url: url.replace(webhook.id, uuidv7()), as: owner })).status).toBe(
        404,
      );
      expect((await app.send({ method, url: url.replace(webhook.id, 'x'), as: owner })).status).toBe(404);
    }
    // Nor is a delivery reached by another webhook, of one's own.
    const mine = await subscribe(other, target.url);
    expect((await retry(other, mine, id)).status).toBe(404);
    expect((await retry(owner, webhook, 'x')).status).toBe(404);
    expect((await app.get('/webhooks', other)).body.data).toHaveLength(1);
  });

  it('that is deleted gets nothing more', async () => {
    const target = await receiver();
    target.answer = (response) => response.writeHead(500).end();
    const webhook = await subscribe(owner, target.url);
    await deposit();
    await until(async () => (await only(owner, webhook))?.lastStatus === 500);
    const { length } = target.received;
    await goForward(webhook, '-1 hour');
    const { status, body } = await app.send({
      method: 'DELETE',
      url: `/webhooks/${webhook.id}`,
      as: owner,
    });
    expect([status, body.data]).toEqual([200, { id: webhook.id }]);
    await goForward(webhook, '2 hours');
    await deposit();
    const other = await receiver();
    await subscribe(owner, other.url);
    await deposit();
    await until(() => other.received.length > 0);
    expect(target.received).toHaveLength(length);
    expect((await app.send({ method: 'DELETE', url: `/webhooks/${webhook.id}`, as: owner })).status).toBe(
      404,
    );
  });

  it('goes with its user', async () => {
    await subscribe(owner, 'http://127.0.0.1:1/');
    await app.sql('DELETE FROM pools WHERE owner_id = $1', [owner.user.id]).catch(() => undefined);
    const other = await app.signIn();
    await subscribe(other, 'http://127.0.0.1:1/');
    await app.sql('DELETE FROM users WHERE id = $1', [other.user.id]);
    expect(await app.sql('SELECT user_id FROM webhooks')).toEqual([{ user_id: owner.user.id }]);
  });

  it('is one of ten at most, also of those that are made at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => app.post('/webhooks', { url: 'http://127.0.0.1:1/' }, owner)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array<number>(10).fill(201),
      ...Array<number>(5).fill(409),
    ]);
    expect(answers.find(({ status }) => status === 409)!.body).toMatchObject({ code: 'conflict' });
    const page = await app.get('/webhooks?limit=4&page=3', owner);
    expect(page.body.pagination).toEqual({ page: 3, limit: 4, total: 10, pages: 3 });
    expect(page.body.data).toHaveLength(2);
    const far = await app.get('/webhooks?limit=100&page=2147483647', owner);
    expect([far.status, far.body.data]).toEqual([200, []]);
    const [{ id }] = page.body.data as Created[];
    await app.send({ method: 'DELETE', url: `/webhooks/${id}`, as: owner });
    await subscribe(owner, 'http://127.0.0.1:1/');
  });

  it.each([
    [{ url: 'example.org' }, 'url'],
    [{ url: 'ftp://example.org/' }, 'url'],
    [{ url: 'https://user:password@example.org/' }, 'url'],
    [{ url: `https://example.org/${'x'.repeat(2048)}` }, 'url'],
    [{ url: 7 }, 'url'],
    [{}, 'url'],
    [{ url: 'https://example.org/', topics: [] }, 'topics'],
    [{ url: 'https://example.org/', topics: ['pool.created', 'pool.created'] }, 'topics'],
    [{ url: 'https://example.org/', topics: ['pools'] }, 'topics'],
    [{ url: 'https://example.org/', topics: 'pool.created' }, 'topics'],
  ])('is refused: %j', async (body, field) => {
    const answer = await app.post('/webhooks', body, owner);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect((answer.body.details as { field: string }[])[0].field).toMatch(new RegExp(`^${field}`));
  });

  it('may name every topic', async () => {
    await subscribe(owner, 'http://127.0.0.1:1/', [...TOPICS]);
  });
});

describe('a delivery that fails', () => {
  it('comes again after the waits of the settings, with the same id and body, then has failed', async () => {
    const target = await receiver();
    target.answer = (response) => response.writeHead(503).end('down for 5 minutes');
    const webhook = await subscribe(owner, target.url);
    await deposit();
    const { WEBHOOK_RETRY_SECONDS: settled } = app.environment;
    const waits: number[] = [];
    for (let attempt = 1; attempt <= settled.length + 1; attempt++) {
      // Until its outcome is stored, the webhook is taken.
      const finished = async () =>
        app.sql<{ own: number; seconds: number }>(
          `SELECT date_part('epoch', d.next_attempt_at - now()) AS own,
             date_part('epoch', greatest(d.next_attempt_at, w.retry_at) - now()) AS seconds
           FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
           WHERE w.id = $1 AND d.attempts = $2 AND w.taken_until = '-infinity'`,
          [webhook.id, attempt],
        );
      await until(async () => (await finished()).length > 0);
      const each = await only(owner, webhook);
      expect(each).toMatchObject({
        status: attempt > settled.length ? 'FAILED' : 'PENDING',
        lastStatus: 503,
        lastError: 'status 503',
        deliveredAt: null,
      });
      const [{ own, seconds }] = await finished();
      waits.push(own);
      await goForward(webhook, `${Math.ceil(seconds * 1000) + 5} milliseconds`);
    }
    for (const [n, wait] of settled.entries()) {
      expect(waits[n]).toBeGreaterThan(wait * 0.75 - 3);
      expect(waits[n]).toBeLessThan(wait * 1.25);
    }
    expect(target.received).toHaveLength(settled.length + 1);
    expect(new Set(target.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(target.received.map(({ body }) => body)).size).toBe(1);
    for (const each of target.received) expect(isSigned(each, webhook.secret)).toBe(true);
  });

  it('can be sent again, and one that was delivered too', async () => {
    const target = await receiver();
    target.answer = (response) => response.writeHead(500).end();
    const webhook = await subscribe(owner, target.url);
    await deposit();
    await until(async () => (await only(owner, webhook))?.lastStatus === 500);
    await app.sql(`UPDATE webhook_deliveries SET status = 'FAILED' WHERE webhook_id = $1`, [webhook.id]);
    target.answer = (response) => response.writeHead(200).end('ok');
    const { id } = await only(owner, webhook);
    for (const n of [2, 3]) {
      const { status, body } = await retry(owner, webhook, id);
      expect([status, body.data]).toMatchObject([202, { id, status: 'PENDING', deliveredAt: null }]);
      await until(async () => (await only(owner, webhook)).status === 'DELIVERED');
      expect(await only(owner, webhook)).toMatchObject({ id, attempts: n, lastStatus: 200, lastError: null });
      expect(target.received).toHaveLength(n);
    }
  });

  it('does not follow redirects', async () => {
    const [target, elsewhere] = [await receiver(), await receiver()];
    for (const status of [301, 302, 307, 308]) {
      target.answer = (response) => response.writeHead(status, { location: elsewhere.url }).end();
      const webhook = await subscribe(owner, target.url);
      await deposit();
      await until(async () => (await only(owner, webhook))?.lastStatus === status);
      expect(await only(owner, webhook)).toMatchObject({
        status: 'PENDING',
        lastError: 'redirects are not followed',
      });
      await app.sql('DELETE FROM webhooks');
    }
    expect(elsewhere.connections).toBe(0);
  });

  it('says so where nobody listens, or the connection is closed', async () => {
    const target = await receiver();
    target.answer = (response) => response.destroy();
    const closed = await new Receiver().start();
    const { url } = closed;
    await closed.stop();
    const webhooks = [await subscribe(owner, target.url), await subscribe(owner, url)];
    await deposit();
    for (const [n, reason] of ['connection closed', 'connection refused'].entries()) {
      await until(async () => (await only(owner, webhooks[n]))?.lastError);
      expect(await only(owner, webhooks[n])).toMatchObject({ lastStatus: null, lastError: reason });
    }
  });

  it('drops long answers, whose status counts', async () => {
    const target = await receiver();
    let sent = 0;
    target.answer = (response) => {
      response.writeHead(200);
      const write = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.on('drain', write);
      write();
    };
    const webhook = await subscribe(owner, target.url);
    await deposit();
    await until(async () => (await only(owner, webhook))?.status === 'DELIVERED');
    expect(sent).toBeLessThan(20_000_000);
  });
});

describe('several processes', () => {
  const replicas: NestFastifyApplication[] = [];
  afterEach(async () => {
    for (const each of replicas.splice(0)) await each.close();
  });

  it('send each delivery once', async () => {
    for (let n = 0; n < 2; n++)
      replicas.push(
        await createApp(
          settings(app.database.url, { WEBHOOK_ALLOW_PRIVATE: 'true' }),
          pino({ level: 'silent' }),
        ),
      );
    for (const each of replicas) await each.init();
    const target = await receiver();
    const webhook = await subscribe(owner, target.url);
    for (let n = 0; n < 30; n++) await deposit();
    await until(async () => {
      const rows = await app.sql<{ status: string }>(
        'SELECT status FROM webhook_deliveries WHERE webhook_id = $1',
        [webhook.id],
      );
      return rows.length === 30 && rows.every(({ status }) => status === 'DELIVERED');
    });
    expect(target.received).toHaveLength(30);
    expect(new Set(target.events.map(({ id }) => id)).size).toBe(30);
  });

  it('take over what one had taken that was killed', async () => {
    const target = await receiver();
    const webhook = await subscribe(owner, target.url);
    const id = uuidv7();
    // As the process leaves it that claimed it and sent nothing.
    await app.sql(
      `WITH event AS (INSERT INTO webhook_events (id, body) VALUES ('x', '{}'))
       INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, attempts, next_attempt_at)
       VALUES ($1, $2, 'x', 'pool.created', 0, 'infinity')`,
      [id, webhook.id],
    );
    await app.sql(
      `WITH webhook AS (UPDATE webhooks SET taken_until = now() + interval '30 s' WHERE id = $2)
       UPDATE webhook_deliveries SET attempts = 1, next_attempt_at = now() + interval '30 s' WHERE id = $1`,
      [id, webhook.id],
    );
    const claim = { webhooks: [webhook.id], most: [4], leaseSeconds: 30 };
    expect(await app.nest.get(Database).writeAll(CLAIM_DELIVERIES, claim)).toEqual([]);
    expect(target.received).toEqual([]);
    await goForward(webhook, '30 seconds');
    await until(async () => (await only(owner, webhook)).status === 'DELIVERED');
    expect(await only(owner, webhook)).toMatchObject({ attempts: 2 });
    expect(target.received).toHaveLength(1);
  });
});

it('a receiver that does not answer does not hold up others', async () => {
  const [slow, quick] = [await receiver(), await receiver()];
  slow.answer = () => undefined;
  const other = await app.signIn();
  const { id } = await subscribe(owner, slow.url);
  // In one statement, so that all are due at once.
  await app.sql(
    `WITH event AS (INSERT INTO webhook_events (id, body) SELECT n, '{}' FROM generate_series(1, 80) n)
     INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic)
     SELECT gen_random_uuid(), $1, n, 'pool.created' FROM generate_series(1, 80) n`,
    [id],
  );
  await until(() => slow.received.length > 0);
  const webhook = await subscribe(other, quick.url);
  ({ id: pool } = (await app.createPool(other)) as { id: string });
  await deposit(other.address);
  await until(async () => (await deliveries(other, webhook)).some(({ status }) => status === 'DELIVERED'));
  // Its share of what this process sends at once, and no more.
  expect(slow.mostUnanswered).toBeLessThanOrEqual(4);
});

it('deliveries are kept for seven days', async () => {
  const webhook = await subscribe(owner, 'http://127.0.0.1:1/');
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
    return (await deliveries(owner, webhook)).length === 1;
  });
  expect((await deliveries(owner, webhook)).map(({ eventId }) => eventId)).toEqual(['young']);
});
