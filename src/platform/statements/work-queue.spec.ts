import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIMITS } from '#platform/postgres/budget';
import { afterIo } from '#platform/timing/waits';
import { Outage } from './outage';
import { type Work, WorkQueue } from './work-queue';

it('a statement that is sent again keeps its place', () => {
  const queue = new WorkQueue(LIMITS, new Outage(), () => false);
  const now = Math.ceil(performance.now());
  for (const requested of [1, 3, 4, 2, 4]) queue.add({ requested: now + requested, writes: false } as Work);
  expect(queue.takeFirst(9).map(({ requested }) => requested - now)).toEqual([1, 2, 3, 4, 4]);
});

it('a timeout is stopped also after its timer has fired, until its callback runs', async () => {
  const ended = jest.fn();
  const stop = afterIo(0, ended);
  const stopped = new Promise<void>((resolve) => {
    setTimeout(() => {
      stop();
      resolve();
    }, 0);
  });
  // Both timers are due when the event loop goes on, so they run one after the other.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  await stopped;
  await nextTurn();
  expect(ended).not.toHaveBeenCalled();
});
