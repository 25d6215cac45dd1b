import { startAnvil } from '#dev/anvil';
import { deployContracts } from '#dev/deploy';
import { eventually, useChain } from '../../support/chain/chain-bench';
import { RpcProxy } from '../../support/chain/chain-proxy';

const statusOf = (bench: ReturnType<typeof useChain>, id: string) => async () =>
  (await bench.sql<{ status: string }>('SELECT status FROM transactions WHERE id = $1', [id]))[0]?.status;

describe('reorganisations', () => {
  const bench = useChain();
  beforeAll(() => void bench.indexer());
  afterEach(() => (bench.proxy.faults = {}));

  it('1: depth 1 drops a deposit, which is pending again', async () => {
    const [pool] = bench.pools as [string];
    const id = await bench.pending(pool, 100n);
    await bench.deposit(pool, 100n, id);
    await eventually('confirmation', statusOf(bench, id), (status) => status === 'CONFIRMED');
    await bench.rpc('anvil_reorg', 1, []);
    await eventually('undoing', statusOf(bench, id), (status) => status === 'PENDING');
    const [row] = await bench.sql(
      'SELECT tx_hash, block_number, amount::text FROM transactions WHERE id = $1',
      [id],
    );
    expect(row).toEqual({ tx_hash: null, block_number: null, amount: '100' });
    await bench.converged();
  });

  it('2: the same transaction is mined in another block', async () => {
    const [pool] = bench.pools as [string];
    const id = await bench.pending(pool, 70n);
    const before = await bench.deposit(pool, 70n, id);
    await eventually('confirmation', statusOf(bench, id), (status) => status === 'CONFIRMED');
    const raw = await bench.owner.getTransaction({ hash: before.transactionHash });
    const serialized = await bench.rpc('eth_getRawTransactionByHash', raw.hash);
    await bench.rpc('anvil_reorg', 2, [[serialized, 1]]);
    await bench.converged();
    expect(await statusOf(bench, id)()).toBe('CONFIRMED');
  });

  it('3: depth 20 with replacements', async () => {
    const [pool, other] = bench.pools as [string, string];
    for (let i = 0; i < 15; i += 1) await bench.deposit(i % 2 ? pool : other, BigInt(1000 + i));
    await bench.mine(5);
    await bench.converged();
    await bench.rpc('anvil_reorg', 20, []);
    for (let i = 0; i < 3; i += 1) await bench.deposit(pool, BigInt(5000 + i));
    await bench.converged();
  });

  it('4: a node that is behind undoes nothing', async () => {
    await bench.deposit(bench.pools[0], 11n);
    await bench.converged();
    const before = await bench.cursor();
    const seen = bench.proxy.requests;
    bench.proxy.faults = { behind: () => 12 };
    await eventually(
      'more requests',
      () => Promise.resolve(bench.proxy.requests),
      (count) => count > seen + 8,
    );
    expect((await bench.cursor())?.hash).toBe(before?.hash);
    expect(await bench.difference()).toBe('');
  });

  it('5: a competing block undoes exactly itself', async () => {
    await bench.deposit(bench.pools[0], 21n);
    const kept = await bench.deposit(bench.pools[1], 22n);
    await bench.deposit(bench.pools[2], 23n);
    await bench.converged();
    const undone = await bench.undoneDuring(async () => {
      await bench.rpc('anvil_reorg', 1, []);
      await bench.converged();
    });
    expect(undone).toEqual([Number(kept.blockNumber) + 1]);
  });

  it('19: a balancer with a node 20 blocks behind undoes nothing', async () => {
    // In no step with the requests of one round, as a balancer's choice is not either.
    const turns = [0, 20, 20, 0, 20, 0, 0];
    let turn = 0;
    bench.proxy.faults = { behind: () => turns[turn++ % turns.length] };
    for (let i = 0; i < 30; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(100 + i));
    await bench.converged();
  });
});

describe('another chain', () => {
  const bench = useChain();

  it('6: deeper than the window halts, leaves the data, and is rewound by hand', async () => {
    const [pool] = bench.pools as [string];
    await bench.deposit(pool, 500n);
    await bench.mine(80);
    await bench.deposit(pool, 600n);
    const indexer = bench.indexer();
    await bench.converged();
    const before = JSON.stringify(await bench.actual());
    const { number } = (await bench.cursor())!;
    await bench.rpc('anvil_reorg', 75, []);
    await eventually(
      'halting',
      () => bench.cursor(),
      (cursor) => cursor?.state === 'halted',
    );
    expect(JSON.stringify(await bench.actual())).toBe(before);
    expect(indexer.output).toContain('HALTED');
    // The node fails at first. Then the cursor is taken back once, as by a leader.
    const proxy = await new RpcProxy(bench.anvil.url).start();
    let failing = 2;
    proxy.faults = { refuse: (method) => method === 'eth_chainId' && failing-- > 0 };
    await bench.sql('CREATE TABLE taken ()');
    await bench.sql(`CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
      IF NOT EXISTS (SELECT FROM taken) THEN
        INSERT INTO taken DEFAULT VALUES;
        UPDATE chain_cursor SET epoch = epoch + 1;
      END IF;
      RETURN NULL;
    END $$`);
    await bench.sql('CREATE TRIGGER take AFTER UPDATE OF epoch ON chain_cursor EXECUTE FUNCTION take()');
    const output = await bench.rewind(number - 76, { RPC_URL: proxy.url });
    expect(output).toContain('waiting: eth_chainId: not here');
    expect(output).toContain('waiting: the cursor was moved by another process');
    await proxy.stop();
    await bench.sql('DROP FUNCTION take CASCADE');
    await bench.sql('DROP TABLE taken');
    await bench.converged();
    await indexer.end();
  });

  it('7: a wrong chain id is refused', async () => {
    const indexer = bench.indexer({ CHAIN_ID: '1' });
    await indexer.ended;
    expect(indexer.code).toBe(1);
    expect(indexer.output).toMatch(/chain 31337.*CHAIN_ID is 1/);
  });

  it('8: a chain that began anew is refused, and the data left', async () => {
    const before = JSON.stringify(await bench.actual());
    const fresh = await startAnvil();
    try {
      // Another genesis: another time.
      await deployContracts(fresh.url);
      bench.proxy.target = fresh.url;
      const indexer = bench.indexer();
      await indexer.ended;
      expect(indexer.code).toBe(1);
      expect(indexer.output).toMatch(/genesis/);
      expect(JSON.stringify(await bench.actual())).toBe(before);
    } finally {
      bench.proxy.target = bench.anvil.url;
      await fresh.stop();
    }
  });

  it('tells at start of a contract address that has no code', async () => {
    const contracts = { ...bench.deployment.contracts, rotating: `0x${'9'.repeat(40)}` };
    const text = Object.entries(contracts)
      .map((pair) => pair.join('='))
      .join(',');
    const indexer = bench.indexer({ POOL_CONTRACTS: text });
    await eventually(
      'the message',
      () => Promise.resolve(indexer.output),
      (said) => said.includes('no contract at'),
    );
    expect(indexer.output).toContain('(rotating)');
    await indexer.end();
  });
});
