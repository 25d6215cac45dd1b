import type { Address } from 'viem';
import { freshDatabase } from '../../support/database';
import { ChainBench } from '../../support/chain/chain-bench';
import { Indexers, type Random, contractsOf, lie, one, trouble } from '../../support/network/random-faults';
import { SEED, generator } from '../../support/random';

const ROUNDS = Number(process.env.ROUNDS ?? 7);
const ACTIONS = 12;
/** A round is long enough for contracts to be quarantined. */
const SOON = { QUARANTINE_AFTER: '1' };

/** What people and nodes do to the chain; what the contracts refuse is as good as nothing done. */
function actionsOn(bench: ChainBench, random: Random, indexers: Indexers): (() => Promise<unknown>)[] {
  const pick = (): string => one(random, bench.pools);
  const none = `0x${'0'.repeat(32)}`;
  const contracts = (): string[] => contractsOf(bench);
  const bytes = (id: string): string => `0x${id.replaceAll('-', '')}`;
  return [
    () => bench.deposit(pick(), BigInt(1 + random(1000))),
    async () => {
      const pool = pick();
      const amount = BigInt(1 + random(1000));
      const id = await bench.pending(pool, amount);
      return bench.deposit(pool, random(4) === 0 ? amount + 1n : amount, random(2) ? id : undefined);
    },
    () => bench.withdraw(pick(), BigInt(1 + random(100))),
    () => bench.call(bench.owner, 'accrueYield', [bytes(pick()), BigInt(1 + random(999)), 1 + random(900)]),
    () => bench.call(bench.saver, 'claimYield', [bytes(pick()), none]),
    async () => {
      const { timestamp } = await bench.owner.getBlock();
      return bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 3n]);
    },
    async () => bench.lottery(bench.saver, 'buyTickets', [await bench.currentDraw(), BigInt(1 + random(5))]),
    async () => bench.lottery(bench.other, 'buyTickets', [await bench.currentDraw(), BigInt(1 + random(5))]),
    async () => bench.lottery(bench.owner, 'cancelDraw', [await bench.currentDraw()]),
    async () => {
      const draw = await bench.currentDraw();
      await bench.lottery(bench.owner, 'closeDraw', [draw]);
      await bench.mine(2);
      return bench.lottery(bench.owner, 'completeDraw', [draw]);
    },
    async () => bench.lottery(bench.other, 'fundPrize', [await bench.currentDraw(), BigInt(1 + random(5))]),
    async () => bench.lottery(bench.saver, 'refund', [await bench.currentDraw()]),
    async () => bench.lottery(bench.saver, 'claimPrize', [await bench.currentDraw()]),
    // A lottery contract beside the first, which the next indexers follow, and draws there: some before it is followed.
    async () => {
      if (bench.further.length === 2) return;
      const added = await bench.addLottery();
      const { timestamp } = await bench.owner.getBlock();
      if (random(2) === 0) await bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 3n], added);
      await indexers.restart();
    },
    // One contract is taken back by hand, beside the leader.
    async () => {
      const { number } = (await bench.cursor())!;
      const contract = one(random, contracts());
      const settings = { RPC_URL: bench.anvil.url };
      await bench.rewind(Math.max(1, number - random(30)), settings, contract as Address);
    },
    async () => {
      const [, contract] = one(random, bench.further);
      const { timestamp } = await bench.owner.getBlock();
      await bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 3n], contract).catch(() => undefined);
      const draw = await bench.currentDraw(contract);
      return bench.lottery(bench.saver, 'buyTickets', [draw, BigInt(1 + random(5))], contract);
    },
    () => bench.rpc('anvil_reorg', 1 + random(6), []),
    () => bench.mine(1 + random(4)),
    () => bench.addPool(),
    () => indexers.takeover(),
  ];
}

describe.each([1, 2, 3])('20: random rounds with %d endpoints', (endpoints) => {
  const bench = new ChainBench(endpoints);
  beforeAll(() => bench.start());
  afterAll(() => bench.stop());

  it(`converge, and a replay from nothing gives the same state (SEED=${SEED})`, async () => {
    const random = generator(SEED + endpoints);
    const indexers = new Indexers(random, () => bench.indexer(SOON));
    const actions = actionsOn(bench, random, indexers);
    const told: string[] = [];
    const converged = (): Promise<void> =>
      bench.converged().catch((error: Error) => {
        throw new Error(`${error.message}\n${told.join('\n')}\n${indexers.output}`);
      });
    await indexers.restart();
    for (let round = 0; round < ROUNDS; round += 1) {
      // Against a liar others must stand: where there are two, the other one is well, and has not failed lately.
      const lying = endpoints > 1 && random(2) === 0 ? random(endpoints) : undefined;
      if (lying !== undefined) await indexers.restart();
      const head = Number(await bench.owner.getBlockNumber({ cacheTime: 0 }));
      const spared = lying === undefined ? undefined : (lying + 1) % endpoints;
      bench.proxies.forEach((proxy, i) => {
        proxy.faults =
          i === lying ? lie(random, head) : i === spared ? {} : trouble(random, contractsOf(bench));
      });
      told.push(`round ${round}: ${bench.proxies.map(({ faults }) => Object.entries(faults)).join(' | ')}`);
      for (let i = 0; i < ACTIONS; i += 1) {
        await one(random, actions)().catch(() => undefined);
        // Another endpoint fails, or a failing one is well again, in the middle of it.
        if (lying === undefined && random(4) === 0) {
          one(random, bench.proxies).faults = trouble(random, contractsOf(bench));
        }
      }
      for (const proxy of bench.proxies) proxy.faults = {};
      await converged();
    }
    await indexers.end();
    const first = JSON.stringify(await bench.actual());
    const before = bench.database;
    await bench.useDatabase(await freshDatabase());
    await before.drop();
    await indexers.restart();
    await converged();
    expect(JSON.stringify(await bench.actual())).toBe(first);
    await indexers.end();
  });
});
