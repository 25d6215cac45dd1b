import { freshDatabase } from '../support/database';
import { type IndexerProcess, useChain } from '../support/chain-bench';
import { generator } from '../support/generator';

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const ROUNDS = Number(process.env.ROUNDS ?? 12);

describe('20: random rounds', () => {
  const bench = useChain();

  it(`converge, and a replay from nothing gives the same state (SEED=${SEED})`, async () => {
    const random = generator(SEED);
    let indexer: IndexerProcess = bench.indexer();
    const pick = (): string => bench.pools[random(bench.pools.length)];
    const actions: (() => Promise<unknown>)[] = [
      () => bench.deposit(pick(), BigInt(1 + random(1000))),
      async () => {
        const pool = pick();
        const amount = BigInt(1 + random(1000));
        const id = await bench.pending(pool, amount);
        return bench.deposit(pool, random(4) === 0 ? amount + 1n : amount, random(2) ? id : undefined);
      },
      () => bench.withdraw(pick(), BigInt(1 + random(100))),
      () =>
        bench.call(bench.owner, 'accrueYield', [
          `0x${pick().replaceAll('-', '')}`,
          BigInt(1 + random(999)),
          1 + random(900),
        ]),
      () => bench.call(bench.saver, 'claimYield', [`0x${pick().replaceAll('-', '')}`, `0x${'0'.repeat(32)}`]),
      async () => {
        const { timestamp } = await bench.owner.getBlock();
        return bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 3n]);
      },
      async () =>
        bench.lottery(bench.saver, 'buyTickets', [await bench.currentDraw(), BigInt(1 + random(5))]),
      async () =>
        bench.lottery(bench.other, 'buyTickets', [await bench.currentDraw(), BigInt(1 + random(5))]),
      async () => bench.lottery(bench.owner, 'cancelDraw', [await bench.currentDraw()]),
      async () => {
        const draw = await bench.currentDraw();
        await bench.lottery(bench.owner, 'closeDraw', [draw]);
        await bench.mine(2);
        return bench.lottery(bench.owner, 'completeDraw', [draw]);
      },
      // A lottery contract beside the first, which the next indexer follows, and draws there.
      async () => {
        if (bench.further.length === 2) return;
        await bench.addLottery();
        await indexer.end('SIGKILL');
        indexer = bench.indexer();
      },
      async () => {
        const [, contract] = bench.further[random(bench.further.length)];
        const { timestamp } = await bench.owner.getBlock();
        await bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 3n], contract).catch(() => undefined);
        const draw = await bench.currentDraw(contract);
        return bench.lottery(bench.saver, 'buyTickets', [draw, BigInt(1 + random(5))], contract);
      },
      () => bench.rpc('anvil_reorg', 1 + random(6), []),
      () => bench.mine(1 + random(4)),
      () => bench.addPool(),
    ];
    for (let round = 0; round < ROUNDS; round += 1) {
      let n = 0;
      const faults = [
        {},
        { http: () => (n++ % 4 === 1 ? (502 as const) : ('ok' as const)) },
        { behind: () => random(3) },
        { maxRange: 1 + random(5) },
        { batch: <T>(answers: T[]) => [...answers].reverse() },
      ];
      bench.proxy.faults = faults[random(faults.length)]!;
      // What the contracts refuse is as good as nothing done.
      for (let i = 0; i < 12; i += 1) await actions[random(actions.length)]().catch(() => undefined);
      if (random(3) === 0) {
        await indexer.end('SIGKILL');
        indexer = bench.indexer();
      }
      bench.proxy.faults = {};
      await bench.converged();
    }
    await indexer.end();
    const first = JSON.stringify(await bench.actual());
    const before = bench.database;
    await bench.useDatabase(await freshDatabase());
    await before.drop();
    indexer = bench.indexer();
    await bench.converged();
    expect(JSON.stringify(await bench.actual())).toBe(first);
    await indexer.end();
  });
});
