import { startAnvil } from '#dev/anvil';
import { eventually, useChain } from '../../../support/chain/chain-bench';
import { liars } from '../../../support/chain/liars';
import { askedOften, deposits, forging, said, useIndexer } from './endpoints';

describe('of two endpoints', () => {
  const bench = useChain(2);
  const indexer = useIndexer(bench);

  it.each([
    ['drops every request', { http: () => 'drop' as const }],
    ['does not answer', { http: () => 'hang' as const }],
    ['refuses every call', { refuse: () => true }],
    ['answers with 900 MB', { http: () => 'huge' as const }],
    ['has heads but refuses logs', { refuse: (method: string) => method === 'eth_getLogs' }],
  ])('the first is left for the other when it %s', async (_, faults) => {
    await bench.mine(200);
    await bench.converged();
    bench.proxies[0].faults = faults;
    await deposits(bench);
    await bench.converged();
    expect(await indexer.metrics()).toMatch(/^indexer_endpoint_state\{.*state="(failing|lagging)"\} 1$/m);
    expect(indexer.process.code).toBeNull();
  });

  it('the one whose events have gaps is not believed', async () => {
    for (const liar of [0, 1]) {
      bench.proxies[liar].faults = { logs: (logs) => logs.filter((_, i) => i > 0) };
      await deposits(bench);
      await bench.converged();
      await said(indexer.process, 'is not believed: leaves out events');
      bench.proxies[liar].faults = {};
      await deposits(bench);
      await bench.converged();
    }
  });

  it.each([
    ['amounts', 0, (): ReturnType<typeof liars.amounts> => liars.amounts()],
    ['amounts', 1, (): ReturnType<typeof liars.amounts> => liars.amounts()],
    ['the last event', 0, (): ReturnType<typeof liars.amounts> => liars.omission()],
  ])('that differ in %s neither is believed', async (_, liar, lie) => {
    const before = (await bench.cursor())!;
    bench.proxies[liar].faults = lie();
    await bench.deposit(bench.pools[0], 7n);
    await said(indexer.process, /waiting: .* differ at block/);
    expect((await bench.cursor())!.hash).toBe(before.hash);
    await eventually(
      'a state that says so',
      () => bench.cursor(),
      (cursor) => cursor!.state !== 'synced',
    );
    expect(await indexer.metrics()).toMatch(/^indexer_endpoint_disagreements_total\{.*\} [1-9]/m);
  });

  it.each([0, 1])('one that claims blocks which the other lacks is not believed alone: %d', async (liar) => {
    bench.proxies[liar].faults = liars.ahead();
    await bench.deposit(bench.pools[0], 7n);
    await bench.mine(80);
    // Either they are found to differ, or the honest one is read; the state that follows is compared below.
    const { number } = (await bench.cursor())!;
    await eventually(
      'a decision',
      async () => ({ output: indexer.process.output, cursor: await bench.cursor() }),
      ({ output, cursor }) => /differ at block/.test(output) || cursor!.number > number,
    );
  });

  it.each([0, 1])('one that alone has blocks is not believed, whatever fits: %d', (liar) =>
    forging(bench, liar, async () => {
      const before = (await bench.cursor())!;
      await askedOften(bench, 1 - liar);
      await askedOften(bench, liar);
      expect((await bench.cursor())!.hash).toBe(before.hash);
      // Nor when the other one goes on.
      await deposits(bench);
      await askedOften(bench, 1 - liar, 10);
    }),
  );

  it('one that is behind, but goes on, is waited for', async () => {
    await bench.mine(20);
    await bench.converged();
    bench.proxies[1].faults = { behind: () => 20 };
    await deposits(bench);
    await bench.mine(40);
    const { number } = await bench.owner.getBlock();
    await eventually(
      'all blocks that both have',
      () => bench.cursor(),
      (cursor) => cursor!.number === Number(number) - 20,
    );
    await askedOften(bench, 0);
    expect((await bench.cursor())!.number).toBe(Number(number) - 20);
  });

  it.each([0, 1])('one that shows another branch has nothing undone: %d', async (liar) => {
    await deposits(bench);
    await bench.converged();
    const { number } = (await bench.cursor())!;
    const undone = await bench.undoneDuring(async () => {
      bench.proxies[liar].faults = liars.branch(number - 3);
      await bench.mine(1);
      await said(indexer.process, /waiting: .* differ at/);
    });
    expect(undone).toEqual([]);
  });

  it('the second follows a reorganisation in the middle of which the first is gone', async () => {
    await deposits(bench, 12);
    await bench.converged();
    let asked = 0;
    bench.proxies[0].faults = { http: () => (asked++ < 2 ? 'ok' : 'drop') };
    await bench.rpc('anvil_reorg', 8, []);
    await deposits(bench);
    await bench.converged();
  });

  it('one of another chain is left out from the first start on where CHAIN_ID tells; else nothing is guessed', async () => {
    const other = await startAnvil({ chainId: 4242 });
    await indexer.process.end();
    try {
      bench.proxies[0].target = other.url;
      await bench.startAfresh();
      const unsure = bench.indexer();
      await said(unsure, /waiting: which chain to follow is not clear: .* chain 4242 .* chain 31337 /);
      expect([await bench.cursor(), unsure.code]).toEqual([undefined, null]);
      await unsure.end();
      const told = bench.indexer({ CHAIN_ID: '31337' });
      await deposits(bench);
      await bench.converged();
      await said(told, 'is of another chain: 4242');
      // Once it is of ours it is read again.
      bench.proxies[0].target = bench.anvil.url;
      bench.proxies[1].faults = { http: () => 'drop' };
      await deposits(bench);
      await bench.converged();
      await told.end();
    } finally {
      bench.proxies[0].target = bench.anvil.url;
      await other.stop();
    }
  });

  it('neither name nor key is in the log', () => {
    for (const { url } of bench.proxies) expect(indexer.process.output).not.toContain(`${url}/`);
  });
});
