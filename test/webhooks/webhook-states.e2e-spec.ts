import { until, useApp } from '../support/app';
import { readable } from '../support/events/outbox';
import type { Receiver } from '../support/events/receiver';
import { Webhooks, crowd, goForward } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const webhooks = new Webhooks(app);
let target: Receiver;

beforeEach(async () => {
  target = await webhooks.receiver();
});

interface Row {
  status: string;
  failures: number;
  error: string | null;
  lane: string;
  pending: number;
  /** When the next request may be sent, in seconds since 1970. */
  retryAt: number;
}
/** Empty while something is sent. */
const row = async (id: string): Promise<Row> =>
  (
    await app.sql<Row>(
      `SELECT status, failures, last_error AS error, lane, pending, date_part('epoch', retry_at) AS "retryAt"
       FROM webhooks WHERE id = $1 AND taken_until <= now()`,
      [id],
    )
  )[0] ?? {};
const clock = async (): Promise<number> =>
  (await app.sql<{ now: number }>(`SELECT date_part('epoch', clock_timestamp()) AS now`))[0].now;
/** One with so many events that wait. */
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

it('five failures in a row pause it: then one request at a time, until one is answered', async () => {
  answer(500);
  const id = await of(40);
  let before = await clock();
  // Four at first, since it was quick, and from then on one.
  for (let failures = 2; failures <= 8; failures++) {
    if (failures > 2) await next(id);
    await failed(id, failures);
    const after = await clock();
    expect(target.received).toHaveLength(failures + 3);
    const { status, retryAt, lane, error } = await row(id);
    expect([status, lane, error]).toEqual([failures < 5 ? 'ACTIVE' : 'PAUSED', 'slow', 'status 500']);
    const wait = 10 * 2 ** (failures - 2);
    expect(retryAt).toBeGreaterThanOrEqual(before + wait * 0.75);
    expect(retryAt).toBeLessThanOrEqual(after + wait * 1.25);
    before = after;
  }
  // What only waited has all its tries.
  const untried = 'SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND tries = 0';
  expect((await app.sql(untried, [id])).length).toBeGreaterThanOrEqual(40 - 11);
  answer(204);
  await next(id);
  await until(async () => (await row(id)).pending === 0);
  const quick = { status: 'ACTIVE', failures: 0, error: null, lane: 'quick', retryAt: -Infinity };
  expect(await row(id)).toMatchObject(quick);
  expect(target.mostUnanswered).toBeLessThanOrEqual(4);
});

it('a failure among others that are answered pauses nothing', async () => {
  let answered = 0;
  target.answer = (response) => response.writeHead(answered++ % 3 === 0 ? 500 : 204).end();
  const id = await of(30);
  await until(async () => {
    // It waits after the second of two failures in a row.
    await app.sql(`UPDATE webhooks SET retry_at = '-infinity' WHERE id = $1 AND failures > 0`, [id]);
    const { status = 'ACTIVE', failures = 0, pending } = await row(id);
    expect([status, failures < 5]).toEqual(['ACTIVE', true]);
    return pending <= 15;
  });
});

it.each([
  ['429', 429, 4, 7200],
  ['500, which may not ask', 500, 5, 12.5],
])('Retry-After of %s holds for all that waits', async (_, status, requests, seconds) => {
  const before = await clock();
  answer(status, { 'retry-after': '7200' });
  const id = await of(50);
  await failed(id, requests - 3);
  const { retryAt } = await row(id);
  expect(retryAt).toBeLessThanOrEqual((await clock()) + seconds);
  expect(retryAt).toBeGreaterThanOrEqual(before + (status === 429 ? seconds : 7.5));
  expect(target.received).toHaveLength(requests);
});

it('410 disables it at once, and what waits fails, however much it is', async () => {
  answer(410);
  const id = await of(700);
  await until(async () => (await row(id)).status === 'DISABLED');
  expect(await row(id)).toMatchObject({ status: 'DISABLED', error: 'status 410', pending: 0 });
  expect(target.received).toHaveLength(4);
  const failures = await app.sql(
    `SELECT status, last_error AS error, count(*)::int AS n FROM webhook_deliveries WHERE webhook_id = $1
     GROUP BY 1, 2 ORDER BY n`,
    [id],
  );
  expect(failures).toEqual([
    { status: 'FAILED', error: 'status 410', n: 4 },
    { status: 'FAILED', error: 'the webhook is disabled', n: 696 },
  ]);
});

it('three days of failures disable it; one day less does not', async () => {
  answer(500);
  const since = (days: number): string =>
    `status = 'PAUSED', failures = 20, failing_since = now() - interval '${days} days'`;
  const [lasting, over] = [await of(5, since(2.9)), await of(5, since(3))];
  await until(async () => (await row(over)).status === 'DISABLED');
  await failed(lasting, 21);
  expect((await row(lasting)).status).toBe('PAUSED');
  expect((await row(lasting)).pending).toBeGreaterThanOrEqual(5);
});

it('a receiver that is slow gets its events, in another lane, until it is quick again', async () => {
  // Each answer takes two seconds and a bit, as the service measures it.
  const now = performance.now.bind(performance);
  let passed = 0;
  const measured = jest.spyOn(performance, 'now').mockImplementation(() => now() + passed);
  target.answer = (response) => {
    passed += 2100;
    response.writeHead(204).end();
  };
  const id = await of(5);
  await until(async () => (await row(id)).pending === 0);
  expect(await row(id)).toMatchObject({ status: 'ACTIVE', failures: 0, lane: 'slow' });
  expect(target.received).toHaveLength(5);
  // None takes any time now.
  measured.mockReturnValue(now() + passed);
  answer(204);
  await app.sql(
    `UPDATE webhook_deliveries SET status = 'PENDING', next_attempt_at = now() WHERE webhook_id = $1`,
    [id],
  );
  await until(async () => (await row(id)).lane === 'quick');
  measured.mockRestore();
});

it.each([
  [204, 'DELIVERED'],
  [500, 'FAILED'],
])('what is under way when it is disabled changes nothing of that: %i is %s', async (answered, outcome) => {
  answer(answered);
  const release = target.hold();
  const id = await of(10);
  await until(() => target.received.length === 4);
  await app.sql(`UPDATE webhooks SET status = 'DISABLED' WHERE id = $1`, [id]);
  release();
  const done = `SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND status = $2 AND last_status = $3`;
  await until(async () => (await app.sql(done, [id, outcome, answered])).length === 4);
  await goForward(app, id, '1 minute');
  await until(async () => (await app.sql('SELECT FROM webhooks WHERE pending = 0')).length === 1);
  expect((await app.sql('SELECT status FROM webhooks'))[0]).toEqual({ status: 'DISABLED' });
  expect(target.received).toHaveLength(4);
});

it('its owner is told by his other webhooks, and can have it tried at once', async () => {
  const other = await webhooks.receiver();
  const { owner } = webhooks;
  const [{ id }, second] = [await webhooks.subscribe(target.url), await webhooks.subscribe(other.url)];
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
  const delivery = (await webhooks.deliveries(id)).find(({ topic }) => topic === 'pool.created')!;
  expect((await webhooks.retry(id, delivery.id)).status).toBe(202);
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
  const count = async (of: string): Promise<number> =>
    (await app.sql('SELECT FROM webhook_deliveries WHERE webhook_id = $1', [of])).length;
  const [before, others] = [await count(id), await count(second.id)];
  await app.createPool(owner);
  await readable(app);
  await until(async () => (await count(second.id)) > others);
  expect(await count(id)).toBe(before);
});
