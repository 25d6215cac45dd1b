import { LIMITS } from '#platform/postgres/budget';
import { Outage } from './outage';
import { type Work, WorkQueue } from './work-queue';

it('a statement that is sent again keeps its place', () => {
  const queue = new WorkQueue(LIMITS, new Outage(), () => false);
  const now = Math.ceil(performance.now());
  for (const requested of [1, 3, 4, 2, 4]) queue.add({ requested: now + requested, writes: false } as Work);
  expect(queue.takeFirst(9).map(({ requested }) => requested - now)).toEqual([1, 2, 3, 4, 4]);
});
