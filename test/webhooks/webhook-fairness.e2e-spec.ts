import { WebhookClient } from '#extensions/webhooks/webhook-client';
import { until, useApp } from '../support/app';
import type { Receiver } from '../support/events/receiver';
import { Webhooks, crowd, looks } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const webhooks = new Webhooks(app);
/** Answers only after `release`. */
let slow: Receiver;
let quick: Receiver;
let release: () => void;

beforeEach(async () => {
  [slow, quick] = [await webhooks.receiver(), await webhooks.receiver()];
  release = slow.hold();
  // Only requests that ended for another reason count, however long the test takes.
  jest.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal);
});
afterEach(() => jest.restoreAllMocks());

interface Crowd {
  webhooks: number;
  pending?: number;
  hostOf?: (n: number) => string;
  set?: string;
  /** Requests to it at the same time. */
  most: number;
}
/** Another host for each. */
const everyHost = (n: number): string => `127.${1 + Math.floor(n / 200)}.${n % 200}.1`;

it.each<[string, Crowd]>([
  ['40 webhooks of four users that begin to hang', { webhooks: 40, hostOf: everyHost, most: 32 }],
  ['those that are known to be slow', { webhooks: 60, hostOf: everyHost, set: 'is_slow = true', most: 16 }],
  ['those that have failed', { webhooks: 60, hostOf: everyHost, set: 'failures = 4', most: 16 }],
  ['250 webhooks of one host', { webhooks: 250, hostOf: () => '127.0.0.9', most: 8 }],
  [
    'one user with ten webhooks and many events at the same host',
    { webhooks: 10, pending: 100, hostOf: () => '127.0.0.1', most: 8 },
  ],
])('a quick receiver does not wait for %s', async (_, { webhooks: size, pending = 2, hostOf, set, most }) => {
  await crowd(app, { webhooks: size, pending, urlOf: (n) => slow.urlAt(hostOf!(n)), set });
  await until(() => slow.received.length > 0);
  await crowd(app, { webhooks: 1, pending: 1, urlOf: () => quick.url });
  await until(() => quick.received.length === 1);
  // Nobody had given up yet, so the stranger's slot was free all the time.
  expect([slow.lost, slow.received.length <= most]).toEqual([0, true]);
});

it('at a shared host, a user waits for at most one turn of each other user, not of each webhook', async () => {
  const host = '127.0.0.9';
  const post = jest.spyOn(app.nest.get(WebhookClient), 'post');
  await crowd(app, { webhooks: 190, pending: 8, urlOf: (n) => `${slow.urlAt(host)}?${n}` });
  await until(() => slow.received.length === 8);
  await crowd(app, { webhooks: 1, pending: 1, urlOf: () => quick.urlAt(host) });
  release();
  await until(() => quick.received.length === 1);
  const urls = post.mock.calls.map(([{ url }]) => url);
  const webhooksOf = (from: number, to: number): number[] =>
    urls.slice(from, to).map((url) => Number(url.split('?')[1]));
  // Waiting webhooks may have moved to the slow lane meanwhile.
  const held = webhooksOf(0, 8);
  const turns = webhooksOf(8, urls.indexOf(quick.urlAt(host))).filter((webhook) => !held.includes(webhook));
  const users = new Set(turns.map((webhook) => Math.floor(webhook / 10)));
  expect(new Set(turns).size).toBe(users.size);
});

it('webhooks of one user also take turns, however many deliveries wait for each', async () => {
  await crowd(app, { webhooks: 2, pending: 40, urlOf: (n) => `${quick.url}?${n}` });
  await until(() => quick.received.length === 80);
  const first = (webhook: number): number =>
    quick.received.findIndex(({ url }) => url.endsWith(`?${webhook}`));
  expect(first(0) + first(1)).toBeLessThanOrEqual(4);
});

describe('shares', () => {
  it('hold for each process, and no two send the same', async () => {
    const replica = await app.replica({ WEBHOOK_ALLOW_PRIVATE: 'true' });
    await replica.init();
    await crowd(app, { webhooks: 20, pending: 10, urlOf: () => quick.url });
    const left = `SELECT FROM webhook_deliveries d JOIN webhooks w ON w.id = webhook_id WHERE d.status <> 'DELIVERED'`;
    await until(async () => (await app.sql(left)).length === 0);
    expect(quick.received).toHaveLength(200);
    expect(new Set(quick.received.map(({ headers }) => headers['webhook-id'])).size).toBe(200);
    expect(quick.mostUnanswered).toBeLessThanOrEqual(16);
  });
});

it('webhooks that wait for a later try cost nothing but the question who is due', async () => {
  const set = `retry_at = now() + interval '1 hour'`;
  await crowd(app, { webhooks: 200, pending: 2, urlOf: () => slow.urlAt('127.0.0.9'), set });
  expect((await looks(3)).filter((name) => /claim|finish/.test(name))).toEqual([]);
});
