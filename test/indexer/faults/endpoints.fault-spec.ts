import { startAnvil } from '#dev/anvil';
import { connect, devAccount } from '#dev/deploy';
import { freePort } from '#dev/postgres-host';
import { type ChainBench, type IndexerProcess, eventually, useChain } from '../../support/chain/chain-bench';
import { liars } from '../../support/chain/liars';

const said = (indexer: IndexerProcess, text: string | RegExp): Promise<unknown> =>
  eventually(
    String(text),
    () => Promise.resolve(indexer.output),
    (output) => output.search(text) >= 0,
  );

/** Starts an indexer for each test, and ends it with all faults healed. */
function useIndexer(bench: ChainBench): { readonly process: IndexerProcess; metrics(): Promise<string> } {
  let process: IndexerProcess;
  let port: number;
  beforeEach(async () => {
    port = await freePort();
    process = bench.indexer({ INDEXER_PORT: `${port}` });
    await bench.deposit(bench.pools[0], 1n);
    await bench.converged();
  });
  afterEach(async () => {
    for (const proxy of bench.proxies) proxy.faults = {};
    await bench.converged();
    await process.end();
  });
  return {
    get process() {
      return process;
    },
    metrics: async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
  };
}

async function deposits(bench: ChainBench, count = 5): Promise<void> {
  for (let i = 0; i < count; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(1000 + i));
}

const FORGED = 123_456_789n;

/**
 * While `work` runs, one endpoint shows blocks with deposits that nobody else has, and everything that it says of them
 * fits: it is a node of its own, which goes on from the head of the chain.
 */
async function forging(bench: ChainBench, liar: number, work: () => Promise<unknown>): Promise<void> {
  const node = await startAnvil({ extraArgs: ['--fork-url', bench.anvil.url] });
  try {
    const client = await connect(node.url, devAccount(1));
    for (let i = 0; i < 12; i += 1) await bench.deposit(bench.pools[0], FORGED, undefined, client);
    bench.proxies[liar].target = node.url;
    await work();
    expect(await bench.sql('SELECT FROM transactions WHERE amount = $1', [`${FORGED}`])).toEqual([]);
  } finally {
    bench.proxies[liar].target = bench.anvil.url;
    await node.stop();
  }
}

/** Waits until the endpoint was asked so often that the indexer has gone on for some rounds. */
const askedOften = (bench: ChainBench, endpoint: number, times = 40): Promise<unknown> => {
  const enough = bench.proxies[endpoint].requests + times;
  return eventually(
    'many requests',
    () => Promise.resolve(bench.proxies[endpoint].requests),
    (count) => count >= enough,
  );
};

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
