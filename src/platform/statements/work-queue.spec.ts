import { LIMITS } from '#platform/postgres/budget';
import { Outage, type Work, WorkQueue } from './work-queue';

it('a statement that is sent again keeps its place', () => {
  const queue = new WorkQueue(LIMITS, new Outage(), () => false);
  const now = Math.ceil(performance.now());
  for (const requested of [1, 3, 4, 2, 4]) queue.add({ requested: now + requested, writes: false } as Work);
  expect(queue.takeFirst(9).map(({ requested }) => requested - now)).toEqual([1, 2, 3, 4, 4]);
});

it('however long it lasts, connections are not tried one right after another', () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(0);
  try {
    const outage = new Outage();
    expect(outage.pause).toBeLessThanOrEqual(0);
    for (const time of [0, 5000, 10_000]) {
      now.mockReturnValue(time);
      outage.failed(new Error('refused'));
      expect(outage.pause).toBeGreaterThan(0);
    }
    expect(outage.isLong).toBe(true);
    now.mockReturnValue(10_200);
    expect(outage.pause).toBeLessThanOrEqual(0);
  } finally {
    now.mockRestore();
  }
});
