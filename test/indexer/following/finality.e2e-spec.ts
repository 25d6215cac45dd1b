import { type PaperBench, usePaper } from '../../support/chain/paper-bench';

/** Waits until the indexer takes this block for final, and has all headers down to it. */
const knows = (bench: PaperBench, finalized: number): Promise<void> =>
  bench.until(async () => {
    const [row] = await bench.sql<{ finalized: string | null; lacking: string }>(
      `SELECT finalized_number AS finalized, block_number - $1 + 1 - count(number) AS lacking
       FROM chain_cursor LEFT JOIN chain_blocks ON number >= $1 GROUP BY 1, block_number`,
      [finalized],
    );
    return Number(row.finalized) === finalized && Number(row.lacking) === 0;
  });

describe('where nodes say which blocks are final', () => {
  const bench = usePaper();

  it('a reorganisation is followed as deep as they allow, also behind a provider that takes few calls', async () => {
    bench.mine(150);
    const final = bench.chain.head.number - 140;
    bench.node.tags = { finalized: () => final };
    bench.node.faults = { maxBatch: 20 };
    await bench.indexer();
    bench.deposit(bench.pools[0], 5);
    bench.mine(10);
    await bench.converged();
    await knows(bench, final);
    bench.reorg(130);
    bench.deposit(bench.pools[1], 7);
    await bench.converged();
    expect(bench.output).not.toContain('HALTED');
  });

  it('one below the last final block halts, be it shallow, and is followed once it is taken back by hand', async () => {
    bench.deposit(bench.pools[0], 6);
    bench.mine(30);
    const { number } = bench.chain.head;
    bench.node.tags = { finalized: () => number - 3 };
    await bench.converging();
    await knows(bench, number - 3);
    const before = await bench.written.state();
    bench.rollback(5);
    bench.deposit(bench.pools[0], 6);
    bench.mine(5);
    await bench.until(async () => (await bench.cursor())?.state === 'halted');
    expect(await bench.written.state()).toEqual(before);
    expect(bench.output).toContain(`changed below final block ${number - 3}`);
    await bench.rewind(number - 6);
    await bench.converged();
    await knows(bench, number - 3);
  });

  it('CONFIRMATIONS=finalized waits for them, over restarts and while they stall', async () => {
    const waiting = async (): Promise<number> =>
      (await bench.sql(`SELECT FROM chain_events WHERE outcome = 'WAITING'`)).length;
    let final = bench.chain.head.number;
    bench.node.tags = { finalized: () => final };
    await bench.indexer({ CONFIRMATIONS: 'finalized' });
    const { number } = bench.deposit(bench.pools[2], 9);
    bench.mine(100);
    await bench.atHead();
    await knows(bench, final);
    await bench.end();
    await bench.indexer({ CONFIRMATIONS: 'finalized' });
    bench.mine(1);
    await bench.atHead();
    expect(await waiting()).toBe(1);
    // There is no new block when it becomes final.
    final = number;
    await bench.until(async () => (await waiting()) === 0);
    await bench.sameAsAtOnce();
    // This is how chains answer whose blocks are final at once.
    bench.node.tags = { finalized: (head) => head };
    bench.deposit(bench.pools[2], 10);
    await bench.atHead();
    await bench.until(async () => (await waiting()) === 0);
    await bench.sameAsAtOnce();
  });
});

describe('where one of two endpoints lies about what is final', () => {
  const bench = usePaper(2);

  it.each([0, 1])('it is not believed alone: %d', async (liar) => {
    const mark = bench.output.length;
    bench.mine(20);
    const final = bench.chain.head.number - 10;
    bench.nodes[liar].tags = { finalized: (head) => head - 1 };
    bench.nodes[1 - liar].tags = { finalized: () => final };
    await bench.indexer();
    bench.deposit(bench.pools[0], 11);
    await bench.converged();
    await knows(bench, final);
    bench.rollback(5);
    bench.deposit(bench.pools[0], 12);
    bench.mine(5);
    await bench.converged();
    expect(bench.output.slice(mark)).not.toContain('HALTED');
    expect(bench.output.slice(mark)).toContain('events undone');
  });
});
