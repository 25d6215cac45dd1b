import { startAnvil } from '#dev/anvil';
import { eventually, useChain } from '../../../support/chain/chain-bench';
import { liars } from '../../../support/chain/liars';
import { askedOften, deposits, forging, said, useIndexer } from './endpoints';

describe('of three endpoints', () => {
  const bench = useChain(3);
  const indexer = useIndexer(bench);

  const lies: [string, (head: number) => ReturnType<typeof liars.amounts>][] = [
    ['amounts', () => liars.amounts()],
    ['which events there are', () => liars.omission()],
    ['the branch', (head) => liars.branch(head - 2)],
    ['the head', () => liars.head(1000)],
  ];
  it.each(lies.flatMap(([what, lie]) => [0, 1, 2].map((liar) => [liar, what, lie] as const)))(
    'number %d is outvoted when it lies about %s',
    async (liar, _, lie) => {
      await deposits(bench);
      await bench.converged();
      const { number } = (await bench.cursor())!;
      const undone = await bench.undoneDuring(async () => {
        bench.proxies[liar].faults = lie(number);
        await deposits(bench);
        await bench.mine(3);
        await bench.converged();
        await eventually(
          'synced',
          () => bench.cursor(),
          (cursor) => cursor?.state === 'synced',
        );
      });
      expect(undone).toEqual([]);
    },
  );

  it.each([0, 1, 2])('number %d alone has blocks while one is down, and is not believed', (liar) =>
    forging(bench, liar, async () => {
      bench.proxies[(liar + 1) % 3].faults = { http: () => 'drop' };
      const before = (await bench.cursor())!;
      await askedOften(bench, (liar + 2) % 3);
      await askedOften(bench, liar);
      expect((await bench.cursor())!.hash).toBe(before.hash);
    }),
  );

  it('a reorganisation that two of them show is followed', async () => {
    await deposits(bench);
    await bench.converged();
    bench.proxies[0].faults = { behind: () => 2 };
    await bench.rpc('anvil_reorg', 4, []);
    await deposits(bench);
    await bench.converged();
  });

  it('one of another chain is not read', async () => {
    const other = await startAnvil({ chainId: 4242 });
    try {
      bench.proxies[0].target = other.url;
      await indexer.process.end();
      const again = bench.indexer();
      await deposits(bench);
      await bench.converged();
      await said(again, 'is of another chain: 4242');
      await again.end();
    } finally {
      bench.proxies[0].target = bench.anvil.url;
      await other.stop();
    }
    const after = bench.indexer();
    await bench.converged();
    await after.end();
  });
});
