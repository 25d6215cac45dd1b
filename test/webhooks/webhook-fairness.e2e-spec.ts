import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import pino from 'pino';
import { createApp } from '#api/app.setup';
import { settings, until, useApp } from '../support/app';
import { Receiver } from '../support/events/receiver';
import { SlowReceiver, crowd } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
let slow: SlowReceiver;
let quick: Receiver;

beforeEach(async () => {
  [slow, quick] = [await new SlowReceiver().start(), await new Receiver().start()];
});
afterEach(async () => {
  await app.sql('DELETE FROM webhooks');
  await Promise.all([slow.stop(), quick.stop()]);
});

/** A host and a network of their own for each. */
const hostOf = (n: number): string => `127.${1 + Math.floor(n / 200)}.${n % 200}.1`;
const stranger = (): Promise<string[]> => crowd(app, { webhooks: 1, pending: 1, urlOf: () => quick.url });

describe('a quick receiver waits for nobody', () => {
  it.each([
    ['have just begun to hang', undefined],
    ['are known to be slow', 'is_slow = true'],
    ['have failed', 'failures = 4'],
  ])('though 190 webhooks of 19 users, each on a host of its own, %s', async (_, set) => {
    await crowd(app, { webhooks: 190, pending: 20, urlOf: (n) => slow.url(hostOf(n)), set });
    await until(() => slow.held.length >= 16);
    await stranger();
    await until(() => quick.received.length === 1);
    // Nobody had given up yet, so the stranger's slot was free all the time.
    expect(slow.lost).toBe(0);
  });

  it('nor for 250 webhooks of one host, which are before it', async () => {
    await crowd(app, { webhooks: 250, pending: 1, urlOf: () => slow.url('127.0.0.9') });
    await until(() => slow.held.length > 0);
    await stranger();
    await until(() => quick.received.length === 1);
    expect(slow.lost).toBe(0);
    expect(slow.held.length).toBeLessThanOrEqual(8);
  });

  it('nor for many names that lead to one network', async () => {
    const urlOf = (n: number): string => slow.url(`127.0.9.${n + 1}`);
    await crowd(app, { webhooks: 60, pending: 1, urlOf, set: `network = '127.0.9'` });
    await until(() => slow.held.length > 0);
    await stranger();
    await until(() => quick.received.length === 1);
    expect(slow.lost).toBe(0);
  });

  it('nor for one user with ten webhooks at one host and a thousand events for each', async () => {
    const big = await new Receiver().start();
    big.answer = (response) => setTimeout(() => response.writeHead(204).end(), 20);
    const [first] = await crowd(app, { webhooks: 10, pending: 1000, urlOf: () => big.url });
    await until(() => big.received.length > 50);
    await stranger();
    await until(() => quick.received.length === 1);
    expect(big.received.length).toBeLessThan(5000);
    expect(big.mostUnanswered).toBeLessThanOrEqual(8);
    // They take turns: none is served to its end while others wait.
    const [{ pending }] = await app.sql<{ pending: number }>('SELECT pending FROM webhooks WHERE id = $1', [
      first,
    ]);
    expect(pending).toBeGreaterThan(0);
    await app.sql('DELETE FROM webhooks');
    await big.stop();
  });
});

describe('shares', () => {
  const replicas: NestFastifyApplication[] = [];
  afterEach(async () => {
    for (const each of replicas.splice(0)) await each.close();
  });

  it('hold for each process, and no two send the same', async () => {
    const environment = settings(app.database.url, { WEBHOOK_ALLOW_PRIVATE: 'true' });
    replicas.push(await createApp(environment, pino({ level: 'silent' })));
    await replicas[0].init();
    quick.answer = (response) => setTimeout(() => response.writeHead(204).end(), 20);
    await crowd(app, { webhooks: 40, pending: 20, urlOf: () => quick.url });
    const left = (): Promise<unknown[]> =>
      app.sql(
        `SELECT FROM webhook_deliveries d JOIN webhooks w ON w.id = webhook_id WHERE d.status <> 'DELIVERED'`,
      );
    await until(async () => (await left()).length === 0);
    expect(quick.received).toHaveLength(800);
    expect(new Set(quick.received.map(({ headers }) => headers['webhook-id'])).size).toBe(800);
    expect(quick.mostUnanswered).toBeLessThanOrEqual(16);
  });
});

it('webhooks that wait for a later try cost nothing but the question who is due', async () => {
  const calls: Record<string, number> = {};
  const count = (call: unknown): void => {
    const { name } = call as { name: string };
    calls[name] = (calls[name] ?? 0) + 1;
  };
  const set = `retry_at = now() + interval '1 hour'`;
  await crowd(app, { webhooks: 200, pending: 2, urlOf: () => slow.url('127.0.0.9'), set });
  subscribe('tracing:database:statement:start', count);
  await until(() => calls.due_outbox_consumers >= 9);
  unsubscribe('tracing:database:statement:start', count);
  expect(calls.due_webhooks).toBeGreaterThanOrEqual(8);
  // Once in each turn of the loop that all share.
  expect(calls.due_webhooks).toBeLessThanOrEqual(10);
  expect(Object.keys(calls).filter((name) => /claim|finish|fail|postpone/.test(name))).toEqual([]);
});
