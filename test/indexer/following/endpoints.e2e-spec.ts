import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import type { Answers, Faults, Log } from '../../support/chain/rpc-node';
import { nodeOf } from '../../support/chain/chain-node';
import { liars } from '../../support/chain/liars';
import { GENESIS, PaperChain } from '../../support/chain/paper-chain';
import { type PaperBench, usePaper } from '../../support/chain/paper-bench';

function deposits(bench: PaperBench): void {
  for (let i = 0; i < 5; i += 1) bench.deposit(bench.pools[i % 3], 1000 + i);
}
/** Waits until the endpoint was asked so often that the indexer has gone on for some rounds. */
async function askedOften(bench: PaperBench, endpoint: number): Promise<void> {
  const enough = bench.nodes[endpoint].requests.length + 20;
  await bench.until(() => bench.nodes[endpoint].requests.length >= enough);
}
/** A node of blocks with deposits that nobody else has, which go on from the head of the chain. */
function forging(bench: PaperBench): Answers {
  const forged = bench.chain.fork(bench.chain.head.number);
  for (let i = 0; i < 12; i += 1)
    forged.add([{ kind: 'Deposited', poolId: bench.pools[0].replaceAll('-', ''), amount: '66' }], 1, 1e6 + i);
  return nodeOf(() => forged);
}
const ofAnotherChain = nodeOf(() => new PaperChain(), 4242);

/** Starts an indexer before each test. It also shows that the test before has left the ledger right. */
function useIndexer(bench: PaperBench): { app: NestFastifyApplication; mark: number } {
  const indexer = {} as ReturnType<typeof useIndexer>;
  beforeEach(async () => {
    indexer.mark = bench.output.length;
    indexer.app = await bench.indexer();
    bench.deposit(bench.pools[0], 1);
    await bench.converged();
  });
  return indexer;
}

describe('of two endpoints', () => {
  const bench = usePaper(2);
  const indexer = useIndexer(bench);
  const metrics = (): Promise<string> => indexer.app.get(IndexerTelemetry).metrics();

  it.each<[string, Faults]>([
    ['drops every request', { http: () => 'drop' }],
    ['does not answer', { http: () => 'hang' }],
    ['refuses every call', { refuse: () => true }],
    ['has heads but refuses logs', { refuse: (method) => method === 'eth_getLogs' }],
    ['sends null among logs', { logs: (logs) => [...logs, null as unknown as Log] }],
    ['sends times in milliseconds', liars.times(GENESIS * 1000)],
    ['sends null for logs', { logs: () => null as unknown as Log[] }],
  ])('the first is left for the other when it %s', async (_, faults) => {
    bench.node.faults = faults;
    deposits(bench);
    await bench.converged();
    expect(await metrics()).toMatch(/^indexer_endpoint_state\{.*state="(failing|lagging)"\} 1$/m);
  });

  it.each([0, 1])('the one whose events have gaps is not believed: %d', async (liar) => {
    bench.nodes[liar].faults = { logs: (logs) => logs.filter((_, i) => i > 0) };
    deposits(bench);
    await bench.converged();
    await bench.said('is not believed: leaves out events', 1, indexer.mark);
  });

  it.each<[string, number, () => Faults]>([
    ['amounts', 0, liars.amounts],
    ['amounts', 1, liars.amounts],
    ['the last event', 0, liars.omission],
    ['the branch', 0, () => liars.branch(bench.chain.head.number - 3)],
    ['the branch', 1, () => liars.branch(bench.chain.head.number - 3)],
  ])('that differ in %s neither is believed, and nothing is taken back: %d lies', async (_, liar, lie) => {
    deposits(bench);
    await bench.converged();
    const before = (await bench.cursor())!;
    const undone = await bench.undoneDuring(async () => {
      bench.nodes[liar].faults = lie();
      bench.deposit(bench.pools[0], 7);
      await bench.said(/waiting: .* differ at/);
      await bench.until(async () => (await bench.cursor())!.state !== 'synced');
      expect((await bench.cursor())!.hash).toBe(before.hash);
    });
    expect(undone).toEqual([]);
    expect(await metrics()).toMatch(/^indexer_endpoint_disagreements_total\{.*\} [1-9]/m);
  });

  it.each([0, 1])('one that claims blocks which the other lacks is not believed alone: %d', async (liar) => {
    bench.nodes[liar].faults = liars.ahead();
    bench.deposit(bench.pools[0], 7);
    bench.mine(80);
    // Either they are found to differ, or the honest one is read.
    const { number } = (await bench.cursor())!;
    const decided = async (): Promise<boolean> =>
      /differ at block/.test(bench.output.slice(indexer.mark)) || (await bench.cursor())!.number > number;
    await bench.until(decided);
  });

  it.each([0, 1])('one that alone has blocks is not believed, whatever fits: %d', async (liar) => {
    const before = (await bench.cursor())!;
    bench.nodes[liar].target = forging(bench);
    await askedOften(bench, 1 - liar);
    await askedOften(bench, liar);
    expect((await bench.cursor())!.hash).toBe(before.hash);
    // Nor when the other one goes on.
    deposits(bench);
    await askedOften(bench, 1 - liar);
    expect(await bench.sql('SELECT FROM transactions WHERE amount = 66')).toEqual([]);
  });

  it('the second follows a reorganisation in the middle of which the first is gone', async () => {
    deposits(bench);
    await bench.converged();
    let asked = 0;
    bench.node.faults = { http: () => (asked++ < 2 ? 'ok' : 'drop') };
    bench.reorg(4);
    deposits(bench);
    await bench.converged();
  });

  it.each<[string, Faults, string | RegExp, number]>([
    [
      'one is starting',
      { result: (method, result) => (method === 'eth_chainId' ? '0x0' : result) },
      /which chain to follow is not clear: .* does not answer/,
      0,
    ],
    ['they differ about the first block', liars.times(100), 'differ at block 0', 1],
  ])('as long as %s, nothing is read, and log and metrics say why', async (_, faults, reason, differing) => {
    await bench.end();
    bench.node.faults = faults;
    await bench.startAfresh();
    indexer.app = await bench.indexer();
    await bench.said(reason);
    const counted = (await metrics()).match(/^indexer_endpoint_disagreements_total\{.*\} [1-9]/gm) ?? [];
    expect(counted).toHaveLength(differing);
    expect(await bench.cursor()).toBeUndefined();
    bench.node.faults = {};
    await bench.converged();
  });

  it('one of another chain is left out from the first start on where CHAIN_ID tells; else nothing is guessed', async () => {
    await bench.end();
    bench.node.target = ofAnotherChain;
    await bench.startAfresh();
    await bench.indexer();
    await bench.said(/waiting: which chain to follow is not clear: .* chain 4242 .* chain 31337 /);
    expect(await bench.cursor()).toBeUndefined();
    await bench.end();
    await bench.indexer({ CHAIN_ID: '31337' });
    deposits(bench);
    await bench.converged();
    await bench.said('is of another chain: 4242', 1, indexer.mark);
    // Once it is of ours it is read again.
    bench.heal();
    bench.nodes[1].faults = { http: () => 'drop' };
    deposits(bench);
    await bench.converged();
  });
});

describe('of three endpoints', () => {
  const bench = usePaper(3);
  useIndexer(bench);

  it.each(
    [
      ['amounts', liars.amounts],
      ['which events there are', liars.omission],
      ['the branch', () => liars.branch(bench.chain.head.number - 2)],
      ['the head', () => liars.head(1000)],
    ].flatMap(([what, lie]) => [0, 1].map((liar) => [liar, what, lie] as [number, string, () => Faults])),
  )('number %d is outvoted when it lies about %s', async (liar, _, lie) => {
    deposits(bench);
    await bench.converged();
    const undone = await bench.undoneDuring(async () => {
      bench.nodes[liar].faults = lie();
      deposits(bench);
      bench.mine(3);
      await bench.converged();
      await bench.until(async () => (await bench.cursor())!.state === 'synced');
    });
    expect(undone).toEqual([]);
  });

  it.each([0, 1])('number %d is outvoted when it lies about the times of all blocks', async (liar) => {
    await bench.end();
    deposits(bench);
    await bench.startAfresh();
    bench.nodes[liar].faults = liars.times(100);
    await bench.indexer();
    bench.mine(3);
    deposits(bench);
    await bench.converged();
    const times = (): Promise<{ time: number; at: number }[]> =>
      bench.sql(`SELECT extract(epoch FROM e.block_time)::int AS time, extract(epoch FROM t.confirmed_at)::int AS at
        FROM chain_events e JOIN transactions t ON t.id = e.transaction_id ORDER BY e.block_number`);
    const right = bench.chain.blocks.flatMap(({ events }) => events.map(({ time }) => ({ time, at: time })));
    expect(await times()).toEqual(right);
    const blocks =
      'SELECT number::int, extract(epoch FROM time)::int AS time FROM chain_blocks ORDER BY number';
    const kept = await bench.sql<{ number: number; time: number }>(blocks);
    expect(kept).toEqual(kept.map(({ number }) => ({ number, time: bench.chain.blocks[number].time })));
    // Rewinding corrects stored wrong times, though the endpoint still lies.
    await bench.sql(`UPDATE chain_events SET block_time = block_time + interval '100 seconds'`);
    await bench.rewind(0);
    await bench.converged();
    expect(await times()).toEqual(right);
  });

  it('a reorganisation that two of them show is followed', async () => {
    deposits(bench);
    await bench.converged();
    bench.node.faults = { behind: () => 2 };
    bench.reorg(4);
    deposits(bench);
    await bench.converged();
  });
});
