import { setImmediate as nextTurn } from 'node:timers/promises';
import { Outage } from './outage';
import { LIMITS, type Work, WorkQueue, afterIo } from './work-queue';

it('a statement that is sent again keeps its place', () => {
  const queue = new WorkQueue(LIMITS, new Outage(), () => false);
  const now = Math.ceil(performance.now());
  for (const requested of [1, 3, 4, 2, 4]) queue.add({ requested: now + requested, writes: false } as Work);
  expect(queue.takeFirst(9).map(({ requested }) => requested - now)).toEqual([1, 2, 3, 4, 4]);
});

it('a timeout is stopped also between its timer and what follows, when an answer has come', async () => {
  const ended = jest.fn();
  for (let i = 0; i < 50; i++) {
    const stop = afterIo(1, ended);
    // Timers of the same time run one after the other.
    await new Promise<void>((resolve) => {
      setTimeout(() => {
        stop();
        resolve();
      }, 1);
    });
    await nextTurn();
  }
  expect(ended).not.toHaveBeenCalled();
});
