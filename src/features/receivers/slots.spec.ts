import { LANES, Pace, SHARES, type Sharer, Slots } from './slots';

const sharer = (n: number, more: Partial<Sharer> = {}): Sharer => ({
  lane: 'quick',
  owner: `user${n}`,
  host: `host${n}`,
  network: `network${n}`,
  ...more,
});
/** Takes for all, in turn, until nobody gets anything. */
function fill(slots: Slots, sharers: Sharer[]): number {
  let taken = 0;
  for (;;) {
    const round = sharers.reduce((sum, each) => sum + slots.take(each), 0);
    if (round === 0) return taken;
    taken += round;
  }
}

describe.each(LANES)('the lane %s', (lane) => {
  const shares = SHARES[lane];
  const crowd = (of: (n: number) => Partial<Sharer>): Sharer[] =>
    Array.from({ length: 200 }, (_, n) => sharer(n, { lane, ...of(n) }));

  it('is full with so many, and takes none of another', () => {
    const slots = new Slots();
    expect(
      fill(
        slots,
        crowd(() => ({})),
      ),
    ).toBe(shares.all);
    expect(slots.room(lane)).toBe(0);
    for (const other of LANES.filter((each) => each !== lane))
      expect(slots.room(other)).toBe(SHARES[other].all);
  });

  it.each(['user', 'host', 'network'] as const)('gives one %s its share, whatever else differs', (name) => {
    const field = name === 'user' ? 'owner' : name;
    expect(
      fill(
        new Slots(),
        crowd(() => ({ [field]: 'the same' })),
      ),
    ).toBe(shares[name]);
  });

  it('gives one webhook its share at once', () =>
    expect(new Slots().take(sharer(1, { lane }))).toBe(shares.webhook));

  it('has all slots again after they were given back', () => {
    const slots = new Slots();
    const taken = crowd(() => ({})).map((each) => [each, slots.take(each)] as const);
    for (const [each, n] of taken) slots.giveBack(each, n);
    expect(
      fill(
        slots,
        crowd(() => ({})),
      ),
    ).toBe(shares.all);
  });
});

it('users with many webhooks on many hosts leave slots for others', () => {
  const slots = new Slots();
  const attackers = Array.from({ length: 190 }, (_, n) => sharer(n, { owner: `user${n % 19}` }));
  expect(fill(slots, attackers)).toBeLessThan(SHARES.quick.all);
  expect(slots.take(sharer(1000))).toBe(1);
});

it.each(['host', 'network'] as const)(
  'a user with many webhooks at one %s leaves slots there for others',
  (name) => {
    const slots = new Slots();
    const there = { [name]: 'the same' };
    fill(
      slots,
      Array.from({ length: 10 }, (_, n) => sharer(n, { ...there, owner: 'user' })),
    );
    expect(slots.take(sharer(1000, there))).toBe(1);
  },
);

it('what was never sent to has no network, and shares none', () => {
  const slots = new Slots();
  const strangers = Array.from({ length: 8 }, (_, n) => sharer(n, { lane: 'challenge', network: null }));
  expect(fill(slots, strangers)).toBe(SHARES.challenge.all);
});

it('a pace counts for each key, and begins again after a minute', () => {
  let now = 5000;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const pace = new Pace(2);
  expect([
    pace.allows('a', 'b'),
    pace.allows('a', 'c'),
    pace.allows('a', 'd'),
    pace.allows('d', 'b'),
  ]).toEqual([true, true, false, true]);
  pace.forget('a', 'never');
  expect([pace.allows('a', 'never'), pace.allows('a')]).toEqual([true, false]);
  now += 60_000;
  expect(pace.allows('a')).toBe(true);
  jest.restoreAllMocks();
});
