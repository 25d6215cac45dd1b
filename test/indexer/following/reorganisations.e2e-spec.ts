import { SEED, generator } from '../../support/random';
import { PaperChain } from '../../support/chain/paper-chain';
import { nodeOf } from '../../support/chain/chain-node';
import { usePaper } from '../../support/chain/paper-bench';

describe('a reorganisation', () => {
  const bench = usePaper();
  const statusOf = async (id: string): Promise<unknown> =>
    (await bench.sql('SELECT status, amount, tx_hash FROM transactions WHERE id = $1', [id]))[0];

  it('is followed right after a start near the head', async () => {
    bench.mine(30);
    await bench.converging({ START_BLOCK: `${bench.chain.head.number - 2}` });
    bench.reorg(6);
    await bench.converged();
  });

  it('makes a deposit pending again as announced, and it is confirmed by the same transaction in another block', async () => {
    const [pool, deposit] = await bench.addPool(100n);
    const [{ txHash }] = bench.deposit(pool, 90, { ref: deposit }).events;
    await bench.converging();
    expect(await statusOf(deposit)).toEqual({ status: 'CONFIRMED', amount: '90', tx_hash: txHash });
    bench.reorg(1);
    await bench.converged();
    expect(await statusOf(deposit)).toEqual({ status: 'PENDING', amount: '100', tx_hash: null });
    bench.deposit(pool, 100, { ref: deposit });
    bench.chain.head.events[0].txHash = txHash;
    await bench.converged();
    expect(await statusOf(deposit)).toEqual({ status: 'CONFIRMED', amount: '100', tx_hash: txHash });
    await bench.sameAsAtOnce();
  });

  it('undoes exactly the blocks that have others in their place', async () => {
    for (const pool of bench.pools) bench.deposit(pool, 20);
    await bench.converging();
    const { number } = bench.chain.head;
    const undone = await bench.undoneDuring(async () => {
      bench.reorg(1);
      await bench.converged();
    });
    expect(undone).toEqual([number]);
  });

  it('that leaves a lower head is followed by a ledger that is up to date', async () => {
    bench.mine(30);
    await bench.converging();
    bench.rollback(20);
    bench.mine(1);
    await bench.converged();
    await bench.until(async () => (await bench.cursor())?.state === 'synced');
  });

  it.each([
    ['that is behind', (): (() => number) => () => 12],
    // In no step with the requests of one round, as a balancer's choice is not either.
    [
      'among others of a balancer that are up to date',
      (turn = 0) =>
        () =>
          [0, 9, 9, 0, 9, 0, 0][turn++ % 7],
    ],
  ])('is not concluded from a node %s', async (_, behind) => {
    for (let i = 0; i < 20; i += 1) bench.deposit(bench.pools[0], 11);
    await bench.converging();
    const undone = await bench.undoneDuring(async () => {
      bench.node.faults = { behind: behind() };
      const asked = bench.node.requests.length;
      await bench.until(() => bench.node.requests.length > asked + 8);
    });
    expect(undone).toEqual([]);
  });

  it(`is followed at any depth within the window, also after a restart (SEED=${SEED})`, async () => {
    const random = generator(SEED);
    bench.mine(150);
    await bench.indexer();
    for (let i = 0; i < 12; i += 1) {
      await bench.converged();
      // The first one is as deep as it may be, with a lower head.
      bench.rollback(i === 0 ? 64 : 1 + random(64));
      bench.deposit(bench.pools[random(3)], 1 + random(99));
      if (i > 0) bench.mine(random(70));
      if (random(4) > 0) continue;
      await bench.end();
      await bench.indexer();
    }
    await bench.converged();
    expect(bench.output).not.toContain('HALTED');
    await bench.sameAsAtOnce();
  });

  it('is followed at any depth of the window after a rewind by hand', async () => {
    bench.mine(150);
    await bench.converging();
    await bench.rewind(bench.chain.head.number - 40);
    await bench.converged();
    bench.reorg(64);
    await bench.converged();
  });

  it('deeper than the window halts and leaves the ledger, until the node has the block again', async () => {
    bench.deposit(bench.pools[0], 600);
    bench.mine(80);
    await bench.converging();
    const [before, chain] = [await bench.written.state(), bench.chain];
    bench.reorg(75);
    await bench.until(async () => (await bench.cursor())?.state === 'halted');
    expect(await bench.written.state()).toEqual(before);
    bench.chain = chain;
    await bench.said('resumed: the node has block');
    await bench.converged();
  });

  it('deeper than the window is followed after a rewind by hand, which waits for what may pass', async () => {
    bench.deposit(bench.pools[0], 600);
    bench.mine(80);
    await bench.converging();
    const { number } = bench.chain.head;
    bench.reorg(75);
    bench.deposit(bench.pools[1], 601);
    await bench.until(async () => (await bench.cursor())?.state === 'halted');
    // The node fails at first. Then the cursor is taken back once, as by a leader.
    let failing = 2;
    bench.node.faults = { refuse: (method) => method === 'eth_chainId' && failing-- > 0 };
    await bench.sql('CREATE TABLE taken ()');
    await bench.sql(`CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
      IF NOT EXISTS (SELECT FROM taken) THEN
        INSERT INTO taken DEFAULT VALUES;
        UPDATE chain_cursor SET epoch = epoch + 1;
      END IF;
      RETURN NULL;
    END $$`);
    await bench.sql('CREATE TRIGGER take AFTER UPDATE OF epoch ON chain_cursor EXECUTE FUNCTION take()');
    const mark = bench.output.length;
    await bench.rewind(number - 76);
    const said = bench.output.slice(mark);
    expect(said).toContain('waiting: eth_chainId: not here');
    expect(said).toContain('waiting: the cursor was moved by another process');
    await bench.sql('DROP FUNCTION take CASCADE');
    await bench.sql('DROP TABLE taken');
    await bench.converged();
    await bench.sameAsAtOnce();
  });

  it('is not followed to another chain', async () => {
    const before = await bench.written.state();
    expect(await bench.refusal({ CHAIN_ID: '1' })).toMatch(/chain 31337.*CHAIN_ID is 1/);
    const other = new PaperChain();
    other.head.hash = `0x${'9'.repeat(64)}`;
    bench.node.target = nodeOf(() => other);
    expect(await bench.refusal()).toMatch(/another chain than the node's, 31337 with genesis 0x9999/);
    expect(await bench.written.state()).toEqual(before);
  });
});
