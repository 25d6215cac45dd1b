import type { Logger } from '@nestjs/common';
import type { Database } from '#platform/database/database';
import { type ConsumerMetrics, Delivery, EXTEND_MS, SetAsideRule } from './delivery';
import type { OutboxPoller } from './outbox-poller';
import { DUE_CONSUMER, HOLD_CONSUMER, HOLD_SECONDS, MOVE_CONSUMER, type Move, SET_ASIDE } from './outbox.sql';

const SECOND_MS = 1000;
const counter = { inc: () => undefined, set: () => undefined };

/** One run of a consumer over a row of four events. @returns the cursors that it stored, and for how long it holds each */
async function run(given: {
  failures: number;
  handle: () => unknown;
  move: () => Promise<object | undefined>;
}): Promise<{ stored: [xid: string, item: number, seconds: number][]; warnings: string[] }> {
  const stored: [string, number, number][] = [];
  const warnings: string[] = [];
  const statements: Record<string, (values: Move) => Promise<unknown>> = {
    [DUE_CONSUMER.name]: () => Promise.resolve({ lag: 0, due: true }),
    [HOLD_CONSUMER.name]: () =>
      Promise.resolve({ xid: '7', position: '0', item: 0, failures: given.failures }),
    [MOVE_CONSUMER.name]: ({ xid, item, seconds }) => {
      stored.push([xid, item, seconds]);
      return given.move();
    },
    [SET_ASIDE.name]: () => Promise.reject(new Error('lock timeout')),
  };
  const ask = ({ name }: { name: string }, values: Move): unknown => statements[name]?.(values);
  const items = Array.from({ length: 4 }, () => ({ topic: 'deposit.confirmed' }));
  const rows = [{ xid: '8', position: '0', count: items.length, items }];
  let look = (): Promise<void> => Promise.resolve();
  const delivery = new Delivery(
    {
      consumer: 'test',
      topics: new Set(['deposit.confirmed']),
      from: 'now',
      setsAside: true,
      most: 1,
      handle: given.handle,
    },
    { read: ask, write: ask, readAll: () => rows } as unknown as Database,
    {
      add: (_: string, task: typeof look) => ((look = task), () => Promise.resolve()),
      hurry: () => undefined,
    } as unknown as OutboxPoller,
    { lag: counter, failures: counter, setAside: counter } as unknown as ConsumerMetrics,
    { error: () => undefined, warn: (line: string) => warnings.push(line) } as unknown as Logger,
  );
  await look();
  await new Promise(setImmediate);
  await delivery.stop();
  return { stored, warnings };
}

it('does not pass an event that could not be set aside', async () => {
  const { stored, warnings } = await run({
    failures: SetAsideRule.tries - 1,
    handle: () => {
      throw new Error('not this one');
    },
    move: () => Promise.resolve({}),
  });
  expect(stored).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining('lock timeout')]);
});

it('extends its hold between two calls, and leaves what another process has taken', async () => {
  let now = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  const handle = jest.fn(() => void (now += SECOND_MS));
  const held = [{}, undefined];
  const { stored } = await run({ failures: 0, handle, move: () => Promise.resolve(held.shift()) });
  clock.mockRestore();
  expect(handle).toHaveBeenCalledTimes(2);
  expect(stored).toEqual([
    ['8', 1, 15],
    ['8', 2, 15],
    ['8', 2, 0],
  ]);
});

it('extends its hold during a call, more than once before it would end, and not afterwards', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  let isCalled = false;
  const move = jest.fn(() => (isCalled ? Promise.reject(new Error('lock timeout')) : Promise.resolve({})));
  const handle = jest.fn(async () => {
    isCalled = true;
    await jest.advanceTimersByTimeAsync(HOLD_SECONDS * SECOND_MS);
    isCalled = false;
  });
  const { stored, warnings } = await run({ failures: 0, handle, move });
  expect(handle).toHaveBeenCalledTimes(1);
  const extensions = stored.filter(([, , seconds]) => seconds > 0);
  expect(extensions.length).toBeGreaterThanOrEqual(2);
  expect(new Set(extensions.map(([xid, item]) => `${xid} ${item}`))).toEqual(new Set(['7 0']));
  const { length } = stored;
  await jest.advanceTimersByTimeAsync(10 * EXTEND_MS);
  expect(stored).toHaveLength(length);
  expect(warnings).toEqual([]);
  jest.useRealTimers();
});
