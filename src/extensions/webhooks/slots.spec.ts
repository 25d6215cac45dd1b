import { LANES, type Lane, SHARES, Slots, type Waiting } from './slots';

const sharer = (n: number, more: Partial<Waiting> = {}): Waiting => ({
  lane: 'quick',
  since: 0,
  owner: `user${n}`,
  host: `host${n}`,
  ...more,
});
/** The slots of a webhook that alone is due. */
const take = (slots: Slots, each: Waiting): number => slots.share([each]).get(each) ?? 0;
/** Takes for all, in turn, until nobody gets anything. */
function fill(slots: Slots, sharers: Waiting[]): number {
  let taken = 0;
  for (;;) {
    const round = sharers.reduce((sum, each) => sum + take(slots, each), 0);
    if (round === 0) return taken;
    taken += round;
  }
}

describe.each(LANES)('the lane %s', (lane) => {
  const shares = SHARES[lane];
  const crowd = (more: Partial<Waiting> = {}): Waiting[] =>
    Array.from({ length: 200 }, (_, n) => sharer(n, { lane, ...more }));

  it('is full with so many, and takes none of another', () => {
    const slots = new Slots();
    expect(fill(slots, crowd())).toBe(shares.all);
    expect(slots.full().filter((key) => !key.includes(' '))).toEqual([lane]);
  });

  it.each(['user', 'host'] as const)('gives one %s its share, whatever else differs', (name) => {
    const field = name === 'user' ? 'owner' : name;
    expect(fill(new Slots(), crowd({ [field]: 'the same' }))).toBe(shares[name]);
  });

  it('gives one webhook its share at once', () =>
    expect(take(new Slots(), sharer(1, { lane }))).toBe(shares.webhook));

  it('has all slots again after they were given back', () => {
    const slots = new Slots();
    const taken = crowd().map((each) => [each, take(slots, each)] as const);
    for (const [each, n] of taken) slots.giveBack(each, n);
    expect(fill(slots, crowd())).toBe(shares.all);
  });
});

describe('turns', () => {
  const USERS = 30;
  /** A lane where each webhook is due again when its turn ends, so that every user always has something to send. */
  class Queue {
    readonly slots = new Slots();
    /** Webhooks whose turns have begun, in this order. */
    readonly begun: Waiting[] = [];
    private readonly due: Waiting[] = [];
    private readonly running: { webhook: Waiting; slots: number }[] = [];
    private clock = 0;

    constructor(private readonly lane: Lane) {}

    add(webhook: Waiting): Waiting {
      const added = { ...webhook, lane: this.lane, since: ++this.clock };
      this.due.push(added);
      return added;
    }

    /** Begins all possible turns, as the sender does, and ends the longest running one. */
    step(): void {
      const now = ++this.clock;
      const full = this.slots.full();
      const firsts = new Map<string, Waiting>();
      for (const each of this.due) {
        const { lane, owner, host } = each;
        if ([lane, `${lane} user ${owner}`, `${lane} host ${host}`].some((key) => full.includes(key)))
          continue;
        if (!firsts.has(`${owner} ${host}`)) firsts.set(`${owner} ${host}`, each);
      }
      for (const [webhook, slots] of this.slots.share([...firsts.values()])) {
        this.due.splice(this.due.indexOf(webhook), 1);
        this.slots.began(webhook, now);
        this.begun.push(webhook);
        this.running.push({ webhook, slots });
      }
      const ended = this.running.shift()!;
      this.slots.giveBack(ended.webhook, ended.slots);
      this.due.push({ ...ended.webhook, since: ++this.clock });
    }

    /** The turns that begin before the next turn of a webhook, which may have to end its present one first. */
    before({ owner, host }: Waiting, meanwhile = (): void => undefined): Waiting[] {
      const isIt = (each: Waiting): boolean => each.owner === owner && each.host === host;
      while (!this.due.some(isIt)) this.step();
      const start = this.begun.length;
      const turn = (): number => this.begun.slice(start).findIndex(isIt);
      for (let steps = 0; turn() < 0; steps++) {
        if (steps === 20 * USERS) throw new Error('its turn never came');
        meanwhile();
        this.step();
      }
      return this.begun.slice(start, start + turn());
    }
  }

  /** Four webhooks of each user, with shared or separate hosts. */
  const crowdOf = (shared: Partial<Waiting>): Waiting[] =>
    Array.from({ length: 4 * USERS }, (_, n) => sharer(n, { owner: `user${Math.floor(n / 4)}`, ...shared }));
  const mostOf = (turns: Waiting[]): number =>
    Math.max(0, ...turns.map(({ owner }) => turns.filter((each) => each.owner === owner).length));

  const SHARED: [string, Partial<Waiting>][] = [
    ['a lane', {}],
    ['a host', { host: 'shared' }],
  ];

  it.each(LANES.flatMap((lane) => SHARED.map(([where, shared]) => [lane, where, shared] as const)))(
    'in %s, at %s, belong to users: no user has two before another user whose webhook becomes due',
    (lane, _, shared) => {
      for (const steps of [0, 7, 150]) {
        const queue = new Queue(lane);
        crowdOf(shared).forEach((each) => queue.add(each));
        for (let n = 0; n < steps; n++) queue.step();
        const stranger = queue.add(sharer(1000, { owner: 'stranger', ...shared }));
        for (let turn = 0; turn < 3; turn++) {
          const before = queue.before(stranger);
          expect(mostOf(before)).toBeLessThanOrEqual(1);
        }
      }
    },
  );

  it.each(LANES)('in %s: an endless number of later users does not delay a waiting user', (lane) => {
    const queue = new Queue(lane);
    let users = 0;
    const add = (): Waiting => queue.add(sharer(users++, { host: 'shared' }));
    const [first] = Array.from({ length: USERS }, add);
    for (let n = 0; n < 100; n++) queue.step();
    for (let turn = 0; turn < 3; turn++) {
      const known = users;
      const before = queue.before(first, () => void [add(), add()]);
      expect(before.filter(({ owner }) => Number(owner.slice(4)) >= known)).toEqual([]);
    }
  });

  it.each(LANES)("in %s: a webhook at a crowded host does not wait for its owner's other one", (lane) => {
    const queue = new Queue(lane);
    crowdOf({ host: 'shared' }).forEach((each) => queue.add(each));
    queue.add(sharer(2000, { owner: 'stranger' }));
    for (let n = 0; n < 100; n++) queue.step();
    const stranger = queue.add(sharer(1000, { owner: 'stranger', host: 'shared' }));
    for (let turn = 0; turn < 3; turn++)
      expect(mostOf(queue.before(stranger).filter(({ host }) => host === 'shared'))).toBeLessThanOrEqual(1);
  });
});

it('gives no more challenges than a minute allows, without counting answered ones', () => {
  jest.useFakeTimers();
  const slots = new Slots();
  expect(slots.full()).toEqual([]);
  const at = (n: number): Waiting => sharer(n, { lane: 'challenge', host: 'the same' });
  const send = (n: number): number => {
    const taken = take(slots, at(n));
    slots.giveBack(at(n), taken, n >= 5);
    return taken;
  };
  for (let n = 0; n < 15; n++) expect(send(n)).toBe(1);
  expect(send(15)).toBe(0);
  expect(slots.full()).toEqual(['challenge host the same']);
  jest.advanceTimersByTime(60_000);
  expect(slots.full()).toEqual([]);
  expect(send(16)).toBe(1);
  jest.useRealTimers();
});
