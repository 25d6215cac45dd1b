import { Budget, Resting, type Turn } from './budget';

/** A budget by a clock that goes only while somebody waits. */
function budget(perSecond?: number): {
  of: Budget;
  /** When each was sent, in ms, and by whom. */
  sent: { at: number; calls: number; turn: Turn }[];
  ask: (calls: number, turn?: Turn) => Promise<void>;
  now: () => number;
  later: (ms: number) => number;
} {
  let now = 0;
  const of = new Budget(
    perSecond,
    () => now,
    (ms) =>
      new Promise<void>((resolve) =>
        setImmediate(() => {
          now += ms;
          resolve();
        }),
      ),
  );
  const sent: { at: number; calls: number; turn: Turn }[] = [];
  const ask = async (calls: number, turn: Turn = 'reading'): Promise<void> => {
    await of.take(calls, turn, 5000);
    sent.push({ at: now, calls, turn });
  };
  return { of, sent, ask, now: () => now, later: (ms) => (now += ms) };
}

it('has no second with more calls than it has', async () => {
  const { sent, ask, now } = budget(10);
  await Promise.all([1, 9, 10, 3, 10, 1, 1, 8, 2, 10].map((calls) => ask(calls)));
  expect(sent).toHaveLength(10);
  for (const { at } of sent) {
    const within = sent.filter((each) => each.at >= at && each.at < at + 1000);
    expect(within.reduce((sum, { calls }) => sum + calls, 0)).toBeLessThanOrEqual(10);
  }
  // 55 calls, the first of them at once: nor is any of it wasted, but where what is next does not fit.
  expect(now()).toBeLessThanOrEqual(7000);
});

it('holds nobody up without a number', async () => {
  const { ask, now } = budget();
  await Promise.all(Array.from({ length: 1000 }, () => ask(100)));
  expect(now()).toBe(0);
});

it('lets the reader go first, whatever came before', async () => {
  const { sent, ask } = budget(5);
  await Promise.all([ask(5, 'other'), ask(5, 'other'), ask(5, 'other'), ask(5), ask(5)]);
  expect(sent.map(({ turn }) => turn)).toEqual(['other', 'reading', 'reading', 'other', 'other']);
});

it('leaves a tenth to the others while the reader always has more', async () => {
  const { sent, ask } = budget(10);
  await Promise.all([
    ...Array.from({ length: 300 }, () => ask(1)),
    ...Array.from({ length: 20 }, () => ask(1, 'other')),
  ]);
  const early = sent.slice(0, 200).filter(({ turn }) => turn === 'other').length;
  expect([19, 20]).toContain(early);
});

it('leaves a large batch of the others its tenth too', async () => {
  const { sent, ask } = budget(10);
  await Promise.all([...Array.from({ length: 300 }, () => ask(1)), ask(10, 'other'), ask(10, 'other')]);
  expect(sent.slice(0, 220).filter(({ turn }) => turn === 'other')).toHaveLength(2);
  expect(sent.slice(0, 89).every(({ turn }) => turn === 'reading')).toBe(true);
});

describe.each([undefined, 10])('that wants to be left alone (%s a second)', (perSecond) => {
  it('is asked again when that is over', async () => {
    const { of, sent, ask } = budget(perSecond);
    of.rest(3000);
    of.rest(1000);
    await Promise.all([ask(1), ask(1, 'other')]);
    expect(sent.map(({ at }) => at)).toEqual([3000, 3000]);
    expect(of.restMs).toBe(0);
  });

  it('is not asked for what cannot wait that long', async () => {
    const { of, sent, ask, later } = budget(perSecond);
    of.rest(5001);
    await expect(ask(1)).rejects.toThrow(Resting);
    later(1);
    await ask(1);
    expect(sent.map(({ at }) => at)).toEqual([5001]);
  });
});

it('tells those who wait already that it has to be left alone for longer than they wait', async () => {
  const { of, sent, ask } = budget(10);
  const all = [ask(10), ask(10), ask(10, 'other')];
  of.rest(60_000);
  const ends = await Promise.allSettled(all);
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(sent).toHaveLength(1);
});
