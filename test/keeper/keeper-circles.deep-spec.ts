import { formatEther } from 'viem';
import { PoolContracts } from '#ledger/chain/chain.settings';
import type { KeeperSettings } from '#settings/keeper.settings';
import { type DevClient, artifacts } from '#dev/deploy';
import { Attempts, type Task, circleFinder } from '#keeper/jobs';
import type { KeeperNode } from '#keeper/node';
import { CircleBench, CONTRIBUTION, DAY, Status } from '../support/circles/circles';
import { NO_REF } from '../support/chain/contracts';
import {
  dueDraw,
  COMPLETED,
  keeper,
  later,
  status,
  t,
  transactions,
  useKeepers,
} from '../support/chain/keeper-bench';

useKeepers();

let c: CircleBench;
let alice: DevClient;
beforeAll(async () => {
  c = await CircleBench.start(2, t.anvil);
  [alice] = c.clients;
});
beforeEach(() => c.newPool());

const bound = (settings: Partial<KeeperSettings> = {}) =>
  keeper({ POOL_CONTRACTS: new PoolContracts([['rotating', [t.token, c.pool]]]), ...settings });
const payAll = async (id: bigint): Promise<void> => {
  for (const client of c.clients) await c.call(client, 'contribute', id, NO_REF);
};
const ended = 'keeper_transactions_total{kind="end_round",outcome="succeeded"}';
const cancelled = 'keeper_transactions_total{kind="cancel_circle",outcome="succeeded"}';

describe('the keeper', () => {
  it('ends a round that all have paid, and one whose time is over, once each', async () => {
    const id = await c.started({ collateral: CONTRIBUTION });
    const { round, count } = bound();
    expect(await round()).toBe('idle');
    await c.call(alice, 'contribute', id, NO_REF);
    expect(await round()).toBe('idle');
    await c.call(c.clients[1], 'contribute', id, NO_REF);
    expect(await round()).toBe('sending');
    expect(await c.circle(id)).toMatchObject({ status: Status.RUNNING, round: 1 });
    for (let i = 0; i < 2; i++) expect(await round()).toBe('idle');
    await c.passTime(DAY);
    later(60_000);
    expect(await round()).toBe('sending');
    expect(await c.circle(id)).toMatchObject({ status: Status.COMPLETED, round: 2 });
    expect(await round()).toBe('idle');
    expect([await transactions(), await count(ended), await count(cancelled)]).toEqual([2, 2, 0]);
  });

  it('cancels a circle that has not started in time, and none before', async () => {
    const id = await c.open({ collateral: CONTRIBUTION });
    await c.call(alice, 'join', id, NO_REF);
    const { round, count } = bound();
    expect(await round()).toBe('idle');
    await c.passTime(DAY + 60);
    expect(await round()).toBe('sending');
    expect((await c.circle(id)).status).toBe(Status.CANCELLED);
    expect([await round(), await count(cancelled), await transactions()]).toEqual(['idle', 1, 1]);
  });

  it('does one of each kind in turn, whatever else is due for the contract', async () => {
    for (let i = 0; i < 3; i++) await payAll(await c.started());
    for (let i = 0; i < 3; i++) await c.open();
    const { round } = bound();
    await c.passTime(DAY + 60);
    const states = async () => Promise.all([1n, 2n, 3n, 4n, 5n, 6n].map(async (id) => c.circle(id)));
    const done = async (): Promise<number[]> => {
      const found = await states();
      const over = found.filter((each) => each.status === Status.CANCELLED).length;
      return [found.filter((each) => each.round === 1).length, over];
    };
    for (const counts of [
      [1, 0],
      [1, 1],
      [2, 1],
      [2, 2],
      [3, 2],
      [3, 3],
    ]) {
      expect(await round()).toBe('sending');
      expect(await done()).toEqual(counts);
    }
    expect(await round()).toBe('idle');
  });

  it('spends half of its budget at most on circles: the rest is for draws', async () => {
    await payAll(await c.started());
    const call = { abi: artifacts.RotatingPool.abi, address: c.pool, functionName: 'endRound', args: [1n] };
    const gas = await t.owner.estimateContractGas(call);
    const { maxFeePerGas } = await t.owner.estimateFeesPerGas();
    // Fees fall from block to block here.
    const most = (gas * 5n * maxFeePerGas) / 4n;
    const POOL_CONTRACTS = new PoolContracts([
      ['rotating', [c.pool]],
      ['lottery', [t.pool]],
    ]);
    const { round } = bound({ POOL_CONTRACTS, KEEPER_BUDGET: formatEther((most * 3n) / 2n) });
    const rich = bound({ POOL_CONTRACTS, KEEPER_BUDGET: formatEther(most * 4n) });
    expect(await round()).toBe('over_budget');
    await dueDraw();
    expect(await round()).toBe('sending');
    expect([await status(), (await c.circle(1n)).round]).toEqual([COMPLETED, 0]);
    expect(await rich.round()).toBe('sending');
    expect((await c.circle(1n)).round).toBe(1);
  });
});

/** A contract with so many circles, some of which are due for good. */
function listOf(length: number, due: ReadonlySet<number>) {
  let calls = 0;
  const read = (_to: string, _abi: unknown, _name: string, [from, count]: bigint[]): Promise<unknown> => {
    calls++;
    const size = Math.max(0, Math.min(Number(count), length - Number(from)));
    const places = Array.from({ length: size }, (__, i) => Number(from) + i);
    return Promise.resolve([places.map(BigInt), places.map((place) => (due.has(place) ? 1 : 0))]);
  };
  return { node: { read } as unknown as KeeperNode, calls: () => calls };
}

describe('of 100,000 circles', () => {
  const MOST = 100_000;
  const circles = new PoolContracts([['rotating', [`0x${'1'.repeat(40)}`]]]);
  const placeOf = ({ subject }: Task): number => Number(subject.split(' ')[1]);

  it('each round looks at a part, and all are seen in some rounds', async () => {
    const find = circleFinder('end_round');
    const { node, calls } = listOf(MOST, new Set([MOST - 1]));
    let rounds = 0;
    for (let tasks: Task[] = []; tasks.length === 0; rounds++) {
      const before = calls();
      tasks = await find(node, circles, new Attempts());
      expect(calls() - before).toBeLessThanOrEqual(5);
    }
    expect(rounds).toBe(20);
  });

  it('each that is due gets its turn, also while those before it are due again', async () => {
    const find = circleFinder('end_round');
    const due = new Set([0, 1, 2, 3, 40_000, 40_001, MOST - 1]);
    const { node } = listOf(MOST, due);
    const sent: number[] = [];
    while (sent.length < 2 * due.size) {
      const [task] = await find(node, circles, new Attempts());
      if (!task) continue;
      sent.push(placeOf(task));
      task.ended?.();
    }
    expect(sent).toEqual([...due, ...due]);
  });

  it('those that would fail or cost too much do not keep others waiting', async () => {
    const find = circleFinder('end_round');
    const { node } = listOf(MOST, new Set([...Array(30).keys(), 50_000]));
    const offered = new Set<number>();
    for (let i = 0; i < 14; i++)
      for (const task of await find(node, circles, new Attempts())) offered.add(placeOf(task));
    expect([...offered]).toEqual([...Array(30).keys(), 50_000]);
  });
});
