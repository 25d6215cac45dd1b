import type { Address } from 'viem';
import { freePort } from '#dev/postgres-host';
import { type IndexerProcess, eventually, useChain } from '../../support/chain/chain-bench';
import type { Log } from '../../support/chain/chain-proxy';

const SOON = { QUARANTINE_AFTER: '1' };

describe('a contract whose event numbers break', () => {
  const bench = useChain();
  let indexer: IndexerProcess;
  let lottery: Address;
  const heal = (): void => void (bench.proxy.faults = {});
  /** The node leaves out its events alone. */
  const breakIt = (): void => {
    const isOthers = (log: Log): boolean => log.address.toLowerCase() !== lottery;
    bench.proxy.faults = { logs: (logs) => logs.filter(isOthers) };
  };
  const buyTickets = (): Promise<unknown> => bench.lottery(bench.saver, 'buyTickets', [1n, 1n]);
  const apart = (state: string): Promise<unknown> =>
    eventually(
      state,
      () => bench.sql('SELECT address, state FROM chain_contracts_apart'),
      (rows) => rows[0]?.address === lottery && rows[0].state === state,
    );
  /** Of a leader, until it has nothing apart. */
  const healed = async (): Promise<void> => {
    heal();
    await bench.converged();
    await eventually(
      'joining',
      () => bench.sql('SELECT FROM chain_contracts_apart'),
      (rows) => rows.length === 0,
    );
  };

  beforeAll(async () => {
    lottery = bench.deployment.contracts.lottery.toLowerCase() as Address;
    const { timestamp } = await bench.owner.getBlock();
    await bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 10_000_000n]);
    await bench.deposit(bench.pools[0], 5n);
    indexer = bench.indexer(SOON);
    await bench.converged();
    await indexer.end();
  });
  afterEach(async () => {
    heal();
    await indexer.end();
  });

  it('is quarantined, the others go on, and it joins again when it is whole', async () => {
    const port = await freePort();
    const ask = (path: string): Promise<string> =>
      fetch(`http://127.0.0.1:${port}/${path}`).then(
        (answer) => answer.text(),
        () => '',
      );
    // It reports after its commits.
    const reports = (what: string, wanted: (health: { status?: string; contracts?: object[] }) => boolean) =>
      eventually(what, async () => JSON.parse((await ask('health')) || '{}') as object, wanted);
    indexer = bench.indexer({ ...SOON, INDEXER_PORT: `${port}` });
    await bench.converged();
    const undone = await bench.undoneDuring(async () => {
      breakIt();
      await buyTickets();
      await apart('quarantined');
      const { blockNumber } = await bench.deposit(bench.pools[1], 7n);
      await bench.atHead(blockNumber);
      expect(await bench.sql('SELECT FROM transactions WHERE amount = 7')).toHaveLength(1);
      const health = await reports('a contract apart', ({ contracts, status }) =>
        Boolean(contracts && status === 'synced'),
      );
      expect(health).toMatchObject({
        contracts: [
          { address: lottery, state: 'quarantined', reason: expect.stringContaining('left out') as string },
        ],
      });
      expect(await ask('metrics')).toContain(
        `indexer_contract_state{contract="${lottery}",state="quarantined"} 1`,
      );
      await healed();
    });
    expect(undone).toEqual([]);
    await reports('none apart', ({ contracts, status }) => !contracts && status === 'synced');
  });

  it('stays so for the next leader, through a reorganisation and kills, and loses nothing', async () => {
    indexer = bench.indexer(SOON);
    breakIt();
    await buyTickets();
    await apart('quarantined');
    await indexer.end('SIGKILL');
    await bench.deposit(bench.pools[1], 8n);
    await buyTickets();
    indexer = bench.indexer(SOON);
    await bench.atHead();
    await apart('quarantined');
    await bench.mine(3);
    await bench.rpc('anvil_reorg', 4, []);
    await bench.atHead();
    await buyTickets();
    heal();
    const next = bench.indexer(SOON);
    await indexer.end('SIGKILL');
    indexer = next;
    await healed();
  });

  it('is read again from its last event when it stands on no block of the ledger', async () => {
    await buyTickets();
    indexer = bench.indexer(SOON);
    await bench.converged();
    await indexer.end();
    // As a version leaves it that does not know of contracts apart, and has moved the cursor.
    const { number } = (await bench.cursor())!;
    for (const block of [number + 5, number - 1]) {
      await bench.sql(
        `INSERT INTO chain_contracts_apart (address, block_number, block_hash, block_time, state, reason)
         VALUES ($1, $2, '0xother', now(), 'catching_up', 'a test')`,
        [lottery, block],
      );
      indexer = bench.indexer(SOON);
      await eventually(
        'joining',
        () => bench.sql('SELECT FROM chain_contracts_apart'),
        (rows) => rows.length === 0,
      );
      await indexer.end();
    }
  });

  it('is the only one that is read again after a rewind of it', async () => {
    await buyTickets();
    const [{ block }] = await bench.sql<{ block: number }>(
      'SELECT min(block_number)::int AS block FROM chain_events WHERE contract = $1',
      [lottery],
    );
    const its = await bench.sql<{ block: number }>(
      'SELECT block_number::int AS block FROM chain_events WHERE contract = $1 ORDER BY 1',
      [lottery],
    );
    const undone = await bench.undoneDuring(async () => {
      const output = await bench.rewind(block - 1, {}, lottery);
      expect(output).toContain(`${lottery} is back at block ${block - 1}: ${its.length} events undone`);
      await apart('catching_up');
      indexer = bench.indexer(SOON);
      await healed();
    });
    expect(undone).toEqual(its.map((each) => each.block));
    await expect(bench.rewind(block - 1, {}, `0x${'7'.repeat(40)}`)).rejects.toThrow('none of the contracts');
  });
});

describe('a contract whose event numbers break at two endpoints that must agree', () => {
  const bench = useChain(2);

  it('is quarantined, and both are believed about the others', async () => {
    const { lottery } = bench.deployment.contracts;
    const isOthers = (log: Log): boolean => log.address.toLowerCase() !== lottery.toLowerCase();
    const apart = (): Promise<unknown[]> => bench.sql('SELECT FROM chain_contracts_apart');
    const indexer = bench.indexer({ ...SOON, RPC_AGREE: '2' });
    await bench.converged();
    const { timestamp } = await bench.owner.getBlock();
    bench.proxy.faults = { logs: (logs) => logs.filter(isOthers) };
    await bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 10_000_000n]);
    // The one that leaves out is found out by its own counts.
    await eventually(
      'an accusation',
      () => Promise.resolve(indexer.output),
      (output) => output.includes('is not believed'),
    );
    bench.proxies[1].faults = bench.proxy.faults;
    await eventually('a quarantine', apart, (rows) => rows.length === 1);
    const { blockNumber } = await bench.deposit(bench.pools[0], 7n);
    await bench.atHead(blockNumber);
    for (const proxy of bench.proxies) proxy.faults = {};
    await bench.converged();
    await eventually('the end of it', apart, (rows) => rows.length === 0);
    await indexer.end();
  });
});
