import { zeroAddress } from 'viem';
import type { DevClient } from '#dev/deploy';
import { CONTRIBUTION, CircleBench, DAY, Due, Status } from '../support/circles/circles';
import { NO_REF, POOL, REF, revertOf } from '../support/chain/contracts';

/** `contracts-invariants` holds every sequence of calls against a model. Here are events, errors, limits and costs. */
let t: CircleBench;
let [alice, bob, carol, dave]: DevClient[] = [];
/** In the order of their turns. Dave is none. */
let circle: DevClient[];
const of = (client: DevClient) => client.account.address;
const named = () => ({ members: circle.map(of) });
const YEAR = 366 * DAY;
const MOST = 32;

beforeAll(async () => {
  t = await CircleBench.start(4);
  [alice, bob, carol, dave] = t.clients;
  circle = [alice, bob, carol];
});
beforeEach(() => t.newPool(10n));
afterAll(() => t?.anvil.stop());

const refusal = (client: DevClient, name: string, ...args: unknown[]) =>
  revertOf(t.call(client, name, ...args));
describe('a circle', () => {
  it('reports everything in its events', async () => {
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
    const reported = rest.map(({ eventName, args }) => {
      const { circleId: _, poolId: __, seq: ___, ...own } = args;
      return [eventName, own];
    });
    const amount = CONTRIBUTION;
    expect(reported).toEqual([
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
});

describe('the id of a pool', () => {
  it('gives no right, and takes none: anyone may open circles for it', async () => {
    const id = await t.started(named());
    const other = await t.started({ members: [bob, carol].map(of), by: carol, contribution: 17n });
    await t.round(id, named());
    await t.passTime(DAY);
    await t.call(carol, 'endRound', other);
    expect(await t.circle(id)).toMatchObject({ status: Status.RUNNING, round: 1 });
    const [first] = (await t.events()).filter(({ args }) => args.circleId === other);
    expect(first.args).toMatchObject({ poolId: POOL, organiser: of(carol) });
    await t.call(alice, 'claimPayout', id, NO_REF);
    expect(await t.tokens()).toBe(0n);
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

  it('each call that its circle, the caller or the time does not allow, by an error that says which', async () => {
    const id = await t.open({ ...named(), collateral: CONTRIBUTION, by: dave });
    const { until: joinBy } = await t.circle(id);
    const all = async (client: DevClient): Promise<Record<string, string | undefined>> => ({
      join: await refusal(client, 'join', id, NO_REF),
      contribute: await refusal(client, 'contribute', id, NO_REF),
      endRound: await refusal(client, 'endRound', id),
      cancelCircle: await refusal(client, 'cancelCircle', id),
      claimPayout: await refusal(client, 'claimPayout', id, NO_REF),
      claimRefund: await refusal(client, 'claimRefund', id, NO_REF),
    });
    const nothing = { claimPayout: 'NothingToClaim', claimRefund: 'NothingToRefund' };
    const early = { contribute: 'WrongStatus', endRound: 'WrongStatus', ...nothing };
    for (const client of [alice, bob]) await t.call(client, 'join', id, NO_REF);
    expect(await all(alice)).toEqual({ ...early, join: 'AlreadyJoined', cancelCircle: 'NotAllowed' });
    await t.at(joinBy);
    await t.call(carol, 'join', id, NO_REF);
    await t.call(alice, 'contribute', id, NO_REF);
    const running = { join: 'WrongStatus', cancelCircle: 'WrongStatus', endRound: 'TooEarly', ...nothing };
    expect(await all(alice)).toEqual({ ...running, contribute: 'AlreadyPaid' });
    expect(await all(dave)).toEqual({ ...running, contribute: 'NotMember' });
    await t.at((await t.circle(id)).until - 1n);
    await t.call(bob, 'contribute', id, NO_REF);
    await t.passTime(1);
    expect(await refusal(carol, 'contribute', id, NO_REF)).toBe('TooLate');
    await t.call(dave, 'endRound', id);
    await t.call(alice, 'claimPayout', id, NO_REF);
    expect(await all(alice)).toEqual({ ...running, contribute: undefined });
    await t.passTime(DAY);
    await t.call(dave, 'endRound', id);
    expect((await t.circle(id)).status).toBe(Status.CANCELLED);
    await t.call(alice, 'claimRefund', id, NO_REF);
    expect(await all(alice)).toEqual({ ...early, join: 'WrongStatus', cancelCircle: 'WrongStatus' });
    expect(await all(dave)).toEqual(await all(alice));
  });

  it('joining a circle that is not there, not for the caller, or too late', async () => {
    expect(await refusal(alice, 'join', 1n, NO_REF)).toBe('WrongStatus');
    const id = await t.open(named());
    expect(await refusal(dave, 'join', id, NO_REF)).toBe('NotMember');
    await t.passTime(DAY + 1);
    expect(await refusal(alice, 'join', id, NO_REF)).toBe('TooLate');
  });
});

describe('the list of active circles', () => {
  it('is read by page, with what anyone may do for each', async () => {
    await t.open(named());
    await t.started(named());
    await t.open({ ...named(), joining: 10 * DAY });
    const page = (from: bigint, count: bigint) => t.view<[bigint[], number[]]>('activeCircles', from, count);
    expect(await page(0n, 10n)).toEqual([
      [1n, 2n, 3n],
      [0, 0, 0],
    ]);
    await t.passTime(DAY + 60);
    expect(await page(0n, 2n)).toEqual([
      [1n, 2n],
      [Due.CANCEL, Due.END_ROUND],
    ]);
    expect(await page(2n, 2n)).toEqual([[3n], [0]]);
    expect(await page(3n, 2n)).toEqual([[], []]);
  });
});

describe('a circle of 32', () => {
  let large: CircleBench;
  beforeAll(async () => {
    large = await CircleBench.start(MOST);
    await large.newPool();
  });
  afterAll(() => large?.anvil.stop());

  it('costs little gas beside what a block has, whatever its members do', async () => {
    const most: Record<string, number> = {};
    const call = async (client: DevClient, name: string, args: unknown[], what = name): Promise<void> => {
      const { gasUsed } = await large.call(client, name, ...args);
      most[what] = Math.max(most[what] ?? 0, Number(gasUsed));
    };
    const [organiser] = large.clients;
    await call(organiser, 'openCircle', await large.opening({ collateral: 2n * CONTRIBUTION }));
    for (const client of large.clients) await call(client, 'join', [1n, REF]);
    for (const client of large.clients) await call(client, 'contribute', [1n, REF]);
    await call(organiser, 'endRound', [1n], 'a round that all have paid');
    for (const what of ['one that nobody has paid', 'one that nobody has paid', 'one that cannot be paid']) {
      await large.passTime(DAY);
      await call(organiser, 'endRound', [1n], what);
    }
    expect(await large.circle(1n)).toMatchObject({ status: Status.CANCELLED, round: 3 });
    for (const client of large.clients.slice(0, 3)) await call(client, 'claimPayout', [1n, REF]);
    expect(await large.tokens()).toBe(0n);

    const second = await large.started({ collateral: 1n });
    await large.passTime(DAY);
    await large.call(organiser, 'endRound', second);
    for (const client of large.clients) await call(client, 'claimRefund', [second, REF]);
    expect(await large.tokens()).toBe(0n);

    const limits = {
      openCircle: 1_800_000,
      join: 95_000,
      contribute: 80_000,
      'a round that all have paid': 60_000,
      'one that nobody has paid': 420_000,
      'one that cannot be paid': 60_000,
      claimPayout: 80_000,
      claimRefund: 80_000,
    };
    expect(Object.keys(most).sort()).toEqual(Object.keys(limits).sort());
    const above = Object.entries(limits).filter(([what, limit]) => most[what] > limit);
    expect({ above, most }).toEqual({ above: [], most });
  });
});
