import type { ServerResponse } from 'node:http';
import { type SignedIn, until, useApp } from '../support/app';
import { readable } from '../support/events/outbox';
import { Receiver, verified } from '../support/events/receiver';
import { crowd, goForward } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
let target: Receiver;

beforeAll(async () => {
  await until(async () => (await app.sql('SELECT FROM outbox_consumers')).length > 0);
});
beforeEach(async () => {
  target = await new Receiver().start();
});
afterEach(async () => {
  await app.sql('DELETE FROM webhooks');
  await target.stop();
});

interface Row {
  status: string;
  failures: number;
  error: string | null;
  lane: string;
  pending: number;
  /** Seconds until the next request may be sent. */
  wait: number;
}
const row = async (id: string): Promise<Row> =>
  (
    await app.sql<Row>(
      `SELECT status, failures, last_error AS error, lane, pending,
         coalesce(date_part('epoch', nullif(retry_at, '-infinity') - now()), 0) AS wait
       FROM webhooks WHERE id = $1 AND taken_until = '-infinity'`,
      [id],
    )
  )[0] ?? {};
const of = async (pending: number, set?: string): Promise<string> =>
  (await crowd(app, { webhooks: 1, pending, urlOf: () => target.url, set }))[0];
const answer = (status: number, headers = {}): void => {
  target.answer = (response) => response.writeHead(status, headers).end();
};
const next = async (id: string): Promise<void> => {
  const { length } = target.received;
  await goForward(app, id, '2 hours');
  await until(() => target.received.length > length);
};
const failed = (id: string, failures: number): Promise<void> =>
  until(async () => (await row(id)).failures === failures);
const tries = (id: string): Promise<{ tries: number }[]> =>
  app.sql('SELECT tries FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY tries DESC', [id]);

it('five failures in a row pause it: then one request at a time, until one is answered', async () => {
  answer(500);
  const id = await of(100);
  // Four at first, since it was quick, and from then on one.
  await failed(id, 2);
  expect(target.received).toHaveLength(5);
  const waits = [(await row(id)).wait];
  for (let failures = 3; failures <= 8; failures++) {
    await next(id);
    await failed(id, failures);
    expect(target.received).toHaveLength(failures + 3);
    const { status, wait, lane, error } = await row(id);
    expect([status, lane, error]).toEqual([failures < 5 ? 'ACTIVE' : 'PAUSED', 'slow', 'status 500']);
    waits.push(wait);
  }
  for (let n = 0; n < waits.length; n++) {
    expect(waits[n]).toBeGreaterThan(10 * 2 ** n * 0.75 - 3);
    expect(waits[n]).toBeLessThan(10 * 2 ** n * 1.25);
  }
  // What only waited has all its tries.
  expect((await tries(id)).filter((each) => each.tries === 0).length).toBeGreaterThanOrEqual(100 - 11);
  answer(204);
  await next(id);
  let found = {} as Row;
  await until(async () => (found = await row(id)).pending === 0);
  expect(found).toMatchObject({ status: 'ACTIVE', failures: 0, error: null, lane: 'quick', wait: 0 });
  expect(target.mostUnanswered).toBeLessThanOrEqual(4);
});

it('a failure among others that are answered pauses nothing', async () => {
  let n = 0;
  target.answer = (response) => response.writeHead(n++ % 3 === 0 ? 500 : 204).end();
  const id = await of(30);
  let found = {} as Row;
  await until(async () => (found = await row(id)).pending <= 15);
  expect(found.status).toBe('ACTIVE');
});

it.each([
  ['429', 429, () => '7200', 7200],
  ['503, with a date', 503, () => new Date(Date.now() + 7_200_000).toUTCString(), 7200],
  ['503, a day at most', 503, () => '9999999', 86_400],
  ['500, which may not ask', 500, () => '7200', 0],
])('Retry-After of %s holds for all that waits', async (_, status, value, seconds) => {
  answer(status, { 'retry-after': value() });
  const id = await of(50);
  await failed(id, seconds > 0 ? 1 : 2);
  const { wait } = await row(id);
  expect(Math.abs(wait - seconds)).toBeLessThan(30);
  expect(target.received).toHaveLength(seconds > 0 ? 4 : 5);
});

it('410 disables it at once, and what waits fails, however much it is', async () => {
  answer(410);
  const id = await of(1000);
  await until(async () => (await row(id)).pending === 0);
  expect(await row(id)).toMatchObject({ status: 'DISABLED', error: 'status 410' });
  expect(target.received).toHaveLength(4);
  const failures = await app.sql(
    `SELECT status, last_error AS error, count(*)::int AS n FROM webhook_deliveries WHERE webhook_id = $1
     GROUP BY 1, 2 ORDER BY n`,
    [id],
  );
  expect(failures).toEqual([
    { status: 'FAILED', error: 'status 410', n: 4 },
    { status: 'FAILED', error: 'the webhook is disabled', n: 996 },
  ]);
});

it('three days of failures disable it; one day less does not', async () => {
  answer(500);
  const since = (days: number): string =>
    `status = 'PAUSED', failures = 20, failing_since = now() - interval '${days} days'`;
  const [lasting, over] = [await of(5, since(2.9)), await of(5, since(3))];
  await until(async () => (await row(over)).status === 'DISABLED' && (await row(over)).pending === 0);
  await failed(lasting, 21);
  expect((await row(lasting)).status).toBe('PAUSED');
  expect((await row(lasting)).pending).toBeGreaterThanOrEqual(5);
});

it('a receiver that is slow gets its events, in another lane, until it is quick again', async () => {
  target.answer = (response) => setTimeout(() => response.writeHead(204).end(), 2100);
  const id = await of(5);
  await until(() => target.received.length === 5);
  answer(204);
  await until(async () => (await row(id)).pending === 0);
  expect(await row(id)).toMatchObject({ status: 'ACTIVE', failures: 0, lane: 'slow' });
  await app.sql(
    `UPDATE webhook_deliveries SET status = 'PENDING', next_attempt_at = now() WHERE webhook_id = $1`,
    [id],
  );
  await until(async () => (await row(id)).lane === 'quick');
});

it('what is under way when it is disabled changes nothing of that', async () => {
  const held: ServerResponse[] = [];
  target.answer = (response) => void held.push(response);
  const id = await of(10);
  await until(() => held.length === 4);
  await app.sql(`UPDATE webhooks SET status = 'DISABLED' WHERE id = $1`, [id]);
  for (const response of held) response.writeHead(204).end();
  const done = `SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND status = 'DELIVERED'`;
  await until(async () => (await app.sql(done, [id])).length === 4);
  await goForward(app, id, '1 minute');
  await until(async () => (await app.sql('SELECT FROM webhooks WHERE pending = 0')).length === 1);
  expect((await app.sql('SELECT status FROM webhooks'))[0]).toEqual({ status: 'DISABLED' });
  expect(target.received).toHaveLength(4);
});

describe('its owner', () => {
  let owner: SignedIn;
  const create = async (url: string): Promise<string> => {
    const { body } = await app.post('/webhooks', { url }, owner);
    await verified(app, body.data.id as string);
    return body.data.id as string;
  };

  it('is told by his other webhooks, and can have it tried at once', async () => {
    const other = await new Receiver().start();
    owner = await app.signIn();
    const [id, second] = [await create(target.url), await create(other.url)];
    const told = (): unknown[] =>
      other.events
        .filter(({ topic }) => String(topic).startsWith('webhook.'))
        .map(({ id: _, occurredAt, ...rest }) => {
          expect(Date.parse(String(occurredAt))).toBeGreaterThan(0);
          return rest;
        });
    const about = { account: owner.address, webhookId: id };
    answer(500);
    await app.sql(`UPDATE webhooks SET failures = 4, failing_since = now() WHERE id = $1`, [id]);
    await app.createPool(owner);
    await until(() => told().length === 1);
    answer(204);
    const { data } = (await app.get(`/webhooks/${id}/deliveries`, owner)).body;
    const delivery = (data as { id: string; topic: string }[]).find(({ topic }) => topic === 'pool.created')!;
    const url = `/webhooks/${id}/deliveries/${delivery.id}/retry`;
    expect((await app.send({ method: 'POST', url, as: owner })).status).toBe(202);
    await until(() => told().length === 2);
    answer(410);
    await app.createPool(owner);
    await until(() => told().length === 3);
    expect(told()).toEqual([
      { topic: 'webhook.paused', ...about, reason: 'status 500' },
      { topic: 'webhook.resumed', ...about },
      { topic: 'webhook.disabled', ...about, reason: 'status 410' },
    ]);
    // Nothing more is kept for it.
    await until(async () => (await row(id)).pending === 0);
    const count = (of: string): Promise<unknown[]> =>
      app.sql('SELECT FROM webhook_deliveries WHERE webhook_id = $1', [of]);
    const [before, others] = [(await count(id)).length, (await count(second)).length];
    await app.createPool(owner);
    await readable(app);
    await until(async () => (await count(second)).length > others);
    expect(await count(id)).toHaveLength(before);
    await app.sql('DELETE FROM webhooks');
    await other.stop();
  });
});
