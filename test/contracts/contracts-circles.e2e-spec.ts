import { zeroAddress } from 'viem';
import type { DevClient } from '#dev/deploy';
import { CONTRIBUTION, CircleBench, DAY, Due, Status } from '../support/circles/circles';
import { NO_REF, OTHER_POOL, POOL, REF, revertOf } from '../support/chain/contracts';

let t: CircleBench;
let [alice, bob, carol, dave]: DevClient[] = [];
/** In the order of their turns. Dave is none. */
let circle: DevClient[];
const of = (client: DevClient) => client.account.address;
const named = () => ({ members: circle.map(of) });
const YEAR = 366 * DAY;

beforeAll(async () => {
  t = await CircleBench.start(4);
  [alice, bob, carol, dave] = t.clients;
  circle = [alice, bob, carol];
});
beforeEach(() => t.newPool(10n));
afterAll(() => t?.anvil.stop());

const refusal = (client: DevClient, name: string, ...args: unknown[]) =>
  revertOf(t.call(client, name, ...args));
/** What each member has got from the circle in all. */
const results = async (before: bigint[]): Promise<bigint[]> =>
  (await Promise.all(circle.map((client) => t.tokens(of(client))))).map((now, i) => now - before[i]);
const balances = (): Promise<bigint[]> => Promise.all(circle.map((client) => t.tokens(of(client))));

/** Everybody takes all there is. @returns what then is left in the contract */
async function takeAll(id: bigint): Promise<bigint> {
  for (const client of circle) {
    const [payout, refund] = await t.claimable(id, client);
    if (payout > 0n) await t.call(client, 'claimPayout', id, NO_REF);
    if (refund > 0n) await t.call(client, 'claimRefund', id, NO_REF);
    expect(await t.claimable(id, client)).toEqual([0n, 0n]);
  }
  expect(await t.view('totalOf', id)).toBe(await t.tokens());
  return t.tokens();
}

describe('a circle', () => {
  it('gives each member the pot once, and the collateral back', async () => {
    const before = await balances();
    const id = await t.open({ ...named(), collateral: 50n });
    expect(id).toBe(1n);
    for (const client of circle) await t.call(client, 'join', id, REF);
    expect(await t.circle(id)).toMatchObject({ status: Status.RUNNING, joined: 3, round: 0 });
    for (const [round, turn] of circle.entries()) {
      await t.round(id, named());
      expect(await t.claimable(id, turn)).toEqual([3n * CONTRIBUTION, round === 2 ? 50n : 0n]);
      expect(await t.tokens()).toBe(150n + BigInt(round + 1) * 300n);
      expect(await t.view('totalOf', id)).toBe(await t.tokens());
    }
    expect(await t.circle(id)).toMatchObject({ status: Status.COMPLETED, round: 3, until: 0n, listed: 0n });
    expect(await takeAll(id)).toBe(0n);
    expect(await results(before)).toEqual([0n, 0n, 0n]);

    const events = await t.events();
    expect(events.map(({ args }) => args.seq)).toEqual(events.map((_, i) => BigInt(i + 1)));
    expect(await t.view('seq')).toBe(BigInt(events.length));
    const contributed = ['Contributed', 'Contributed', 'Contributed', 'RoundEnded'];
    expect(events.map(({ eventName }) => eventName)).toEqual([
      ...['CircleOpened', 'MemberNamed', 'MemberNamed', 'MemberNamed', 'Joined', 'Joined', 'Joined'],
      ...['CircleStarted', ...contributed, ...contributed, ...contributed, 'CircleCompleted'],
      ...['PaidOut', 'CircleRefunded', 'PaidOut', 'CircleRefunded', 'PaidOut', 'CircleRefunded'],
    ]);
    for (const { args } of events) expect(args).toMatchObject({ circleId: 1n, poolId: POOL });
  });

  it('tells all of it in its events', async () => {
    const opening = await t.opening({ ...named(), collateral: CONTRIBUTION });
    const [, , , , joinBy] = opening as bigint[];
    await t.call(dave, 'openCircle', ...opening);
    await t.call(bob, 'join', 1n, REF);
    await t.call(alice, 'join', 1n, NO_REF);
    await t.call(carol, 'join', 1n, NO_REF);
    const start = await t.now();
    await t.call(alice, 'contribute', 1n, REF);
    await t.call(carol, 'contribute', 1n, NO_REF);
    await t.passTime(DAY);
    await t.call(dave, 'endRound', 1n);
    const end = await t.now();
    await t.call(alice, 'claimPayout', 1n, REF);
    const [opened, ...rest] = await t.events();
    expect(opened.args).toEqual({
      ...{ circleId: 1n, poolId: POOL, organiser: of(dave), contribution: CONTRIBUTION },
      ...{ collateral: CONTRIBUTION, period: DAY, members: 3, joinBy, seq: 1n },
    });
    const told = rest.map(({ eventName, args }) => {
      const { circleId: _, poolId: __, seq: ___, ...own } = args;
      return [eventName, own];
    });
    const amount = CONTRIBUTION;
    expect(told).toEqual([
      ['MemberNamed', { account: of(alice), place: 0 }],
      ['MemberNamed', { account: of(bob), place: 1 }],
      ['MemberNamed', { account: of(carol), place: 2 }],
      ['Joined', { ref: REF, account: of(bob), amount }],
      ['Joined', { ref: NO_REF, account: of(alice), amount }],
      ['Joined', { ref: NO_REF, account: of(carol), amount }],
      ['CircleStarted', { roundEnd: start + BigInt(DAY) }],
      ['Contributed', { ref: REF, account: of(alice), round: 0, amount }],
      ['Contributed', { ref: NO_REF, account: of(carol), round: 0, amount }],
      ['CollateralUsed', { account: of(bob), round: 0, amount }],
      ['RoundEnded', { account: of(alice), round: 0, amount: 300n, nextEnd: end + BigInt(DAY) }],
      ['PaidOut', { ref: REF, account: of(alice), amount: 300n }],
    ]);
  });

  it('without collateral takes none, and refunds none', async () => {
    const id = await t.started(named());
    expect(await t.tokens()).toBe(0n);
    for (let i = 0; i < 3; i++) await t.round(id, named());
    for (const client of circle)
      expect(await refusal(client, 'claimRefund', id, NO_REF)).toBe('NothingToRefund');
    expect(await takeAll(id)).toBe(0n);
  });

  it('begins the next round when one ends: early if all have paid, else late', async () => {
    const id = await t.started({ ...named(), collateral: CONTRIBUTION });
    const started = (await t.circle(id)).until;
    await t.round(id, named());
    const early = (await t.circle(id)).until;
    expect(early).toBe((await t.now()) + BigInt(DAY));
    expect(early - started).toBeLessThan(100n);
    await t.passTime(3 * DAY);
    await t.call(dave, 'endRound', id);
    expect((await t.circle(id)).until).toBe((await t.now()) + BigInt(DAY));
  });

  it('is one of many, also of one pool, and none touches another', async () => {
    const [first, second, third] = [
      await t.started(named()),
      await t.started(named()),
      await t.open(named()),
    ];
    expect(await t.open({ ...named(), poolId: OTHER_POOL, by: dave })).toBe(4n);
    await t.round(first, named());
    await t.call(bob, 'contribute', second, NO_REF);
    expect(await Promise.all([first, second, third].map((id) => t.view('totalOf', id)))).toEqual([
      300n,
      100n,
      0n,
    ]);
    expect(await refusal(alice, 'claimPayout', second, NO_REF)).toBe('NothingToClaim');
    await t.call(alice, 'cancelCircle', third);
    expect(await t.circle(second)).toMatchObject({ status: Status.RUNNING, paid: 1 });
  });
});

describe('who does not pay', () => {
  it('has his collateral pay for him, while it reaches', async () => {
    const before = await balances();
    const id = await t.started({ ...named(), collateral: 3n * CONTRIBUTION });
    for (let i = 0; i < 3; i++) await t.round(id, { ...named(), without: [bob] });
    expect(await t.claimable(id, bob)).toEqual([300n, 0n]);
    expect(await t.view('memberOf', id, of(bob))).toMatchObject({ missed: 3, paidRound: 0 });
    expect(await takeAll(id)).toBe(0n);
    expect(await results(before)).toEqual([0n, 0n, 0n]);
  });

  it('ends the circle when it does not: others bear what it does not cover', async () => {
    const before = await balances();
    const id = await t.started({ ...named(), collateral: CONTRIBUTION + 40n });
    await t.round(id, named());
    await t.round(id, { ...named(), without: [alice] });
    const { transactionHash } = await t.round(id, { ...named(), without: [alice, bob] });
    // Bob's collateral would have reached: it is not touched in a round that does not end.
    expect((await t.events(transactionHash)).map(({ eventName }) => eventName)).toEqual(['CircleCancelled']);
    expect(await t.circle(id)).toMatchObject({ status: Status.CANCELLED, round: 2, listed: 0n });
    expect(await t.claimable(id, alice)).toEqual([300n, 40n]);
    expect(await t.claimable(id, bob)).toEqual([300n, 140n]);
    expect(await t.claimable(id, carol)).toEqual([0n, 240n]);
    expect(await takeAll(id)).toBe(0n);
    expect(await results(before)).toEqual([100n, 100n, -200n]);
  });

  it('without collateral ends it at once, and takes what he has got before', async () => {
    const before = await balances();
    const id = await t.started(named());
    await t.round(id, named());
    await t.round(id, { ...named(), without: [alice] });
    expect(await t.claimable(id, alice)).toEqual([300n, 0n]);
    expect(await takeAll(id)).toBe(0n);
    expect(await results(before)).toEqual([200n, -100n, -100n]);
  });

  it('costs nobody anything if collaterals are the contribution times the members', async () => {
    const before = await balances();
    const id = await t.started({ ...named(), collateral: 3n * CONTRIBUTION });
    for (let i = 0; i < 3; i++) await t.round(id, { ...named(), without: circle });
    expect((await t.circle(id)).status).toBe(Status.COMPLETED);
    expect(await takeAll(id)).toBe(0n);
    expect(await results(before)).toEqual([0n, 0n, 0n]);
  });

  it('gets back exactly what is left, to the last unit', async () => {
    const id = await t.started({ ...named(), contribution: 11n, collateral: 32n });
    for (let i = 0; i < 2; i++) await t.round(id, { ...named(), without: [carol] });
    await t.round(id, { ...named(), without: [carol] });
    expect(await t.claimable(id, carol)).toEqual([0n, 10n]);
    expect(await t.claimable(id, alice)).toEqual([33n, 43n]);
    expect(await takeAll(id)).toBe(0n);
  });
});

describe('before it starts', () => {
  it('is cancelled by its organiser at any time, and collaterals come back', async () => {
    const before = await balances();
    const id = await t.open({ ...named(), collateral: 70n, by: dave });
    await t.call(alice, 'join', id, NO_REF);
    expect(await refusal(alice, 'cancelCircle', id)).toBe('NotAllowed');
    await t.call(dave, 'cancelCircle', id);
    expect(await t.claimable(id, alice)).toEqual([0n, 70n]);
    expect(await t.claimable(id, bob)).toEqual([0n, 0n]);
    expect(await refusal(bob, 'claimRefund', id, NO_REF)).toBe('NothingToRefund');
    expect(await refusal(bob, 'join', id, NO_REF)).toBe('WrongStatus');
    expect(await takeAll(id)).toBe(0n);
    expect(await results(before)).toEqual([0n, 0n, 0n]);
  });

  it('is cancelled by anyone once the time to join is over, and nobody joins then', async () => {
    const id = await t.open({ ...named(), collateral: 70n });
    const { until } = await t.circle(id);
    await t.call(alice, 'join', id, NO_REF);
    await t.at(until);
    await t.call(bob, 'join', id, NO_REF);
    expect(await t.now()).toBe(until);
    expect(await t.view<number>('dueOf', id)).toBe(Due.NOTHING);
    await t.passTime(1);
    expect(await t.view<number>('dueOf', id)).toBe(Due.CANCEL);
    expect(await refusal(carol, 'join', id, NO_REF)).toBe('TooLate');
    await t.call(dave, 'cancelCircle', id);
    expect(await takeAll(id)).toBe(0n);
  });

  it('takes no contribution, ends no round and pays nothing', async () => {
    const id = await t.open({ ...named(), collateral: 70n });
    await t.call(alice, 'join', id, NO_REF);
    expect(await refusal(alice, 'contribute', id, NO_REF)).toBe('WrongStatus');
    expect(await refusal(alice, 'endRound', id)).toBe('WrongStatus');
    expect(await refusal(alice, 'claimPayout', id, NO_REF)).toBe('NothingToClaim');
    expect(await refusal(alice, 'claimRefund', id, NO_REF)).toBe('NothingToRefund');
    expect(await refusal(alice, 'join', id, NO_REF)).toBe('AlreadyJoined');
    expect(await refusal(dave, 'join', id, NO_REF)).toBe('NotMember');
  });
});

describe('refused is', () => {
  it.each([
    ['no contribution', { contribution: 0n }, 'ZeroAmount'],
    ['one below the minimum', { contribution: 9n }, 'BelowMinimum'],
    ['a period below an hour', { period: 3599 }, 'WrongPeriod'],
    ['one above a year', { period: YEAR + 1 }, 'WrongPeriod'],
    ['no time to join', { joining: 0 }, 'WrongJoinBy'],
    ['more than a year to join', { joining: YEAR + 60 }, 'WrongJoinBy'],
  ])('a circle with %s', async (_, terms, error) => {
    expect(await refusal(alice, 'openCircle', ...(await t.opening({ ...named(), ...terms })))).toBe(error);
    expect([await t.view('circles'), await t.view('activeCount')]).toEqual([0n, 0n]);
  });

  it('a circle of one, of too many, of somebody twice or of nobody', async () => {
    const with_ = async (...members: `0x${string}`[]) =>
      refusal(alice, 'openCircle', ...(await t.opening({ members })));
    const many = Array.from(
      { length: 33 },
      (_, i): `0x${string}` => `0x${(i + 1).toString(16).padStart(40, '0')}`,
    );
    expect(await with_(of(alice))).toBe('WrongMemberCount');
    expect(await with_(...many)).toBe('WrongMemberCount');
    expect(await with_(of(alice), of(bob), of(alice))).toBe('WrongMember');
    expect(await with_(of(alice), zeroAddress)).toBe('WrongMember');
    expect(await with_(...many.slice(0, 32))).toBeUndefined();
    expect(await with_(of(alice), of(bob))).toBeUndefined();
  });

  it('a second contribution of a round, one of a stranger, and one that is late', async () => {
    const id = await t.started({ ...named(), collateral: CONTRIBUTION });
    await t.call(alice, 'contribute', id, NO_REF);
    expect(await refusal(alice, 'contribute', id, NO_REF)).toBe('AlreadyPaid');
    expect(await refusal(dave, 'contribute', id, NO_REF)).toBe('NotMember');
    await t.at((await t.circle(id)).until - 1n);
    await t.call(bob, 'contribute', id, NO_REF);
    await t.passTime(1);
    expect(await refusal(carol, 'contribute', id, NO_REF)).toBe('TooLate');
    await t.call(dave, 'endRound', id);
    await t.call(alice, 'contribute', id, NO_REF);
  });

  it('the end of a round that is neither paid nor over', async () => {
    const id = await t.started({ ...named(), collateral: CONTRIBUTION });
    for (const client of [alice, bob]) await t.call(client, 'contribute', id, NO_REF);
    expect(await refusal(dave, 'endRound', id)).toBe('TooEarly');
    const { until } = await t.circle(id);
    await t.passTime(Number(until - (await t.now()) - 2n));
    expect(await t.view<number>('dueOf', id)).toBe(0);
    await t.at(until - 1n);
    expect(await refusal(dave, 'endRound', id)).toBe('TooEarly');
    await t.passTime(Number(until - (await t.now())));
    expect(await t.view<number>('dueOf', id)).toBe(Due.END_ROUND);
    await t.call(dave, 'endRound', id);
  });

  it('the cancelling of a circle that runs, or is over', async () => {
    const id = await t.started(named());
    await t.passTime(3 * DAY);
    expect(await refusal(alice, 'cancelCircle', id)).toBe('WrongStatus');
    await t.call(dave, 'endRound', id);
    expect((await t.circle(id)).status).toBe(Status.CANCELLED);
    for (const name of ['cancelCircle', 'endRound'])
      expect(await refusal(alice, name, id)).toBe('WrongStatus');
    expect(await refusal(alice, 'contribute', id, NO_REF)).toBe('WrongStatus');
  });

  it("another's money, money twice, and the collateral while the circle runs", async () => {
    const id = await t.started({ ...named(), collateral: CONTRIBUTION });
    await t.round(id, named());
    for (const client of [bob, carol, dave]) {
      expect(await refusal(client, 'claimPayout', id, NO_REF)).toBe('NothingToClaim');
      expect(await refusal(client, 'claimRefund', id, NO_REF)).toBe('NothingToRefund');
    }
    await t.call(alice, 'claimPayout', id, NO_REF);
    expect(await refusal(alice, 'claimPayout', id, NO_REF)).toBe('NothingToClaim');
    expect(await refusal(alice, 'claimRefund', id, NO_REF)).toBe('NothingToRefund');
    for (let i = 0; i < 2; i++) await t.round(id, named());
    expect(await refusal(dave, 'claimRefund', id, NO_REF)).toBe('NothingToRefund');
    await t.call(alice, 'claimRefund', id, NO_REF);
    expect(await refusal(alice, 'claimRefund', id, NO_REF)).toBe('NothingToRefund');
  });

  it('everything of a circle that is not there', async () => {
    for (const [name, ...args] of [['join', NO_REF], ['contribute', NO_REF], ['endRound'], ['cancelCircle']])
      expect(await refusal(alice, name, 1n, ...args)).toBe('WrongStatus');
    expect(await refusal(alice, 'claimPayout', 1n, NO_REF)).toBe('NothingToClaim');
    expect(await refusal(alice, 'claimRefund', 0n, NO_REF)).toBe('NothingToRefund');
  });
});
