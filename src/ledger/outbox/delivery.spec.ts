import type { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '#platform/database/database';
import { type ConsumerMetrics, Delivery, SetAsideRule } from './delivery';
import { HOLD_CONSUMER, MOVE_CONSUMER, type Move, SET_ASIDE } from './outbox.sql';

it('does not pass an event that could not be set aside, although its hold is extended', async () => {
  const stored: string[] = [];
  const place = { xid: '7', position: '0', item: 0, suspects: 1, failures: SetAsideRule.tries - 1 };
  const statements: Record<string, (values: Move) => Promise<unknown>> = {
    [HOLD_CONSUMER.name]: () => Promise.resolve(place),
    [MOVE_CONSUMER.name]: ({ xid }) => Promise.resolve(stored.push(xid)),
    // Longer than the consumer waits before it extends its hold.
    [SET_ASIDE.name]: async () => {
      await sleep(1300);
      throw new Error('lock timeout');
    },
  };
  const items = [{ topic: 'deposit.confirmed' }];
  const database = {
    write: ({ name }: { name: string }, values: Move) => statements[name](values),
    readAll: async () => {
      // The hold is extended once while the event is still to be handled.
      await sleep(1300);
      return [{ xid: '8', position: '0', count: 1, items }];
    },
  };
  const counter = { inc: () => undefined };
  const delivery = new Delivery(
    {
      consumer: 'test',
      topics: new Set(['deposit.confirmed']),
      from: 'now',
      setsAside: true,
      most: 1,
      isBatched: false,
      handle: () => Promise.reject(new Error('not this one')),
    },
    database as unknown as Database,
    { failures: counter, setAside: counter } as unknown as ConsumerMetrics,
    { error: () => undefined } as unknown as Logger,
  );
  await expect(delivery.run()).rejects.toThrow('lock timeout');
  expect(stored).toEqual(['7']);
});
