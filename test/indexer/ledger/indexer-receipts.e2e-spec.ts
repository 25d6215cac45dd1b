import type { IndexerSettings } from '#settings/indexer.settings';
import type { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { ReceiptWatch } from '#indexer/background/receipt-watch';
import type { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { type PaperBlock, PaperChain, SAVER, Written } from '../../support/chain/paper-chain';
import { type Answers, RpcNode } from '../../support/chain/rpc-node';
import { connectTo } from '../../support/database';

const POOL = '0a000000-0000-4000-8000-000000000001';
const COMPACT = POOL.replaceAll('-', '');
const hex = (value: bigint | number): string => `0x${value.toString(16)}`;

describe('receipts', () => {
  let chain: PaperChain;
  let written: Written;
  const nodes: RpcNode[] = [];
  let endpoints: WatchedEndpoint[];

  beforeEach(async () => {
    chain = new PaperChain();
    written = await new Written().start(chain);
    await written.addPool(POOL);
  });
  afterEach(async () => {
    await written.stop();
    for (const node of nodes.splice(0)) await node.stop();
  });

  /** So many blocks with so many payments each, by this account's own transactions. */
  async function pay(blocks: number, payments = 1): Promise<PaperBlock[]> {
    const from = chain.blocks.length;
    for (let i = 0; i < blocks; i += 1)
      chain.add(
        Array.from({ length: payments }, () => ({
          kind: 'Deposited' as const,
          poolId: COMPACT,
          account: SAVER,
          amount: '1',
        })),
        1,
      );
    await written.apply(chain);
    return chain.blocks.slice(from);
  }

  const receiptOf = (txHash: string, of = chain, more: object = {}): object | null => {
    const block = of.blocks.find(({ events }) => events.some((each) => each.txHash === txHash));
    if (!block) return null;
    return {
      transactionHash: txHash,
      blockHash: block.hash,
      gasUsed: hex(21_000 + block.number),
      effectiveGasPrice: hex(7),
      ...more,
    };
  };
  /** A node that has the receipts of some transactions, as these say. */
  const having =
    (find: (txHash: string) => object | null): Answers =>
    (_, [key]) =>
      find(key as string);
  const honest = having((txHash) => receiptOf(txHash));
  const poor = having(() => null);

  async function node(answer: Answers): Promise<RpcNode> {
    const started = await RpcNode.start(answer);
    nodes.push(started);
    return started;
  }
  /** As the indexer has it after a start. */
  function watch(agree = 1): ReceiptWatch {
    endpoints = nodes.map((each) => each.endpoint);
    return new ReceiptWatch(
      { RPC_AGREE: agree } as IndexerSettings,
      { all: endpoints } as RpcEndpoints,
      {} as IndexerTelemetry,
    );
  }
  async function rounds(watching: ReceiptWatch, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) await watching.round(written.client);
  }
  const filled = (): Promise<{ block: number; used: number; price: number; fee: number | null }[]> =>
    written.sql(
      `SELECT DISTINCT block_number::int AS block, gas_used::int AS used, gas_price::int AS price, l1_fee::float8 AS fee
       FROM transactions WHERE gas_used IS NOT NULL ORDER BY 1`,
    );
  /** To the minute: looking takes time. */
  const waits = (): Promise<{ block: number; tries: number; seconds: number }[]> =>
    written.sql(
      `SELECT block_number::int AS block, tries, round(extract(epoch FROM check_at - now()) / 60)::int * 60 AS seconds
       FROM receipt_waits ORDER BY 1`,
    );
  const pass = (): Promise<unknown> =>
    written.sql("UPDATE receipt_waits SET check_at = now() - interval '1 second'");

  it('that no endpoint has are asked for once a block, then less and less, also after a restart', async () => {
    await pay(60);
    const lacking = await node(poor);
    const first = watch();
    await rounds(first, 40);
    expect(lacking.calls.length).toBe(60);
    expect(Math.max(...lacking.sizes)).toBeLessThanOrEqual(25);
    await rounds(watch(), 40);
    expect(lacking.calls.length).toBe(60);
    expect(await waits()).toHaveLength(60);
    for (const seconds of [60, 120, 240]) {
      const before = lacking.calls.length;
      await pass();
      await rounds(watch(), 40);
      expect(lacking.calls.length - before).toBeLessThanOrEqual(60);
      expect((await waits()).every((each) => each.seconds <= 2 * seconds)).toBe(true);
    }
    expect(new Set((await waits()).map(({ tries, seconds }) => `${tries} ${seconds}`))).toEqual(
      new Set(['4 480']),
    );
    // None of it counts against the endpoint.
    expect(endpoints.map(({ state, heard }) => [state, heard])).toEqual([['ok', true]]);
  });

  it('are read newest first and sometimes further below, so that neither end holds up the other', async () => {
    await pay(700);
    const have = new Set([1, 100, 700].flatMap((i) => chain.blocks[i].events.map(({ txHash }) => txHash)));
    const some = await node(having((txHash) => (have.has(txHash) ? receiptOf(txHash) : null)));
    const watching = watch();
    await rounds(watching, 6);
    expect((await filled()).map(({ block }) => block)).toEqual([700]);
    expect(some.calls.length).toBe(150);
    // All others are waited for; what is new comes first.
    await written.sql(
      `INSERT INTO receipt_waits SELECT block_number, block_hash, 9, now() + interval '1 day' FROM chain_events
       WHERE block_number NOT IN (1, 100) ON CONFLICT DO NOTHING`,
    );
    const [{ number, events }] = await pay(1);
    events.forEach(({ txHash }) => have.add(txHash));
    await rounds(watch(), 1);
    expect((await filled()).map(({ block }) => block)).toEqual([700, number]);
    // And those below are found in the end.
    await rounds(watch(), 24);
    expect((await filled()).map(({ block }) => block)).toEqual([1, 100, 700, number]);
  });

  it('count when most endpoints agree: one that lies is not believed, and none is alone', async () => {
    const more = { gasUsed: hex(5), l1Fee: hex(99) };
    const [{ number }] = await pay(1);
    const truth = { block: number, used: 21_000 + number, price: 7, fee: null };
    const liar = having((txHash) => receiptOf(txHash, chain, more));
    nodes.push(await RpcNode.start(liar), await RpcNode.start(honest));
    await rounds(watch(), 1);
    expect(await filled()).toEqual([]);
    expect(await waits()).toMatchObject([{ block: number, tries: 1 }]);
    // The one says something, the other has nothing.
    nodes[1].target = poor;
    await pass();
    await rounds(watch(), 1);
    expect(await filled()).toEqual([]);
    nodes[1].target = honest;
    await node(honest);
    await pass();
    await rounds(watch(3), 1);
    expect(await filled()).toEqual([]);
    await pass();
    await rounds(watch(), 1);
    expect(await filled()).toEqual([truth]);
    expect(await waits()).toEqual([]);
    expect(endpoints.map(({ state }) => state)).toEqual(['ok', 'ok', 'ok']);
  });

  it('tell what chains of the OP stack charge beside the gas', async () => {
    const [{ number }] = await pay(1);
    await node(having((txHash) => receiptOf(txHash, chain, { l1Fee: '0x1b48eb57e000' })));
    await rounds(watch(), 1);
    expect(await filled()).toEqual([{ block: number, used: 21_000 + number, price: 7, fee: 3e13 }]);
    // A reorganisation takes it away with the rest.
    await written.rewind(chain.blocks[0]);
    expect(await filled()).toEqual([]);
  });

  it('of another block than the ledger has, and what is no receipt, are ignored', async () => {
    const [{ number, hash }] = await pay(1);
    const answers: object[] = [
      { blockHash: `0x${'9'.repeat(64)}` },
      { gasUsed: 21_000 },
      { gasUsed: '0x' },
      { effectiveGasPrice: '7' },
      { l1Fee: `0x${'f'.repeat(40)}` },
      { transactionHash: null },
    ];
    const wrong = await node(() => null);
    for (const each of answers) {
      wrong.target = having((txHash) => receiptOf(txHash, chain, each));
      await pass();
      await rounds(watch(), 1);
      expect(await filled()).toEqual([]);
    }
    expect(await waits()).toMatchObject([{ block: number, tries: answers.length }]);
    wrong.target = having((txHash) => receiptOf(txHash, chain, { blockHash: hash, effectiveGasPrice: null }));
    await pass();
    await rounds(watch(), 1);
    expect(await filled()).toEqual([{ block: number, used: 21_000 + number, price: null, fee: null }]);
  });

  it('of crowded blocks come a few at a time', async () => {
    await pay(2, 30);
    const well = await node(honest);
    const watching = watch();
    for (const left of [35, 30, 5, 0]) {
      await rounds(watching, 1);
      expect(await written.sql('SELECT FROM transactions WHERE gas_used IS NULL')).toHaveLength(left);
    }
    expect(well.calls).toHaveLength(60);
  });

  it('that nobody answers for say nothing of their blocks', async () => {
    await pay(1);
    const silent = await node(() => {
      throw new Error('cut off');
    });
    const watching = watch();
    await expect(rounds(watching, 1)).rejects.toThrow('too few endpoints answer');
    expect(await waits()).toEqual([]);
    expect(silent.sizes).toEqual([1]);
    expect(endpoints.map(({ state, heard }) => [state, heard])).toEqual([['ok', true]]);
  });

  it('change nothing of a transaction that a reorganisation took elsewhere meanwhile', async () => {
    const [before] = await pay(1);
    const fork = chain.fork(0);
    const again = { kind: 'Deposited' as const, poolId: COMPACT, account: SAVER };
    const [{ txHash }] = before.events;
    fork.add([{ ...again, amount: '1', txHash }], 2, 7);
    const original = chain;
    const slow = await node(async () => {
      // Meanwhile the same transaction is in another block of the same height.
      await written.rewind(original.blocks[0]);
      await written.apply(fork);
      return receiptOf(txHash, original);
    });
    const watching = watch();
    await rounds(watching, 1);
    expect(slow.calls).toHaveLength(1);
    expect(await filled()).toEqual([]);
    slow.target = having((hash) => receiptOf(hash, fork));
    await rounds(watching, 1);
    expect(await filled()).toMatchObject([{ block: 1 }]);
  });

  it('leave a row to who writes it, and know nothing of a block in place of one that was waited for', async () => {
    await pay(3);
    const some = await node(poor);
    const watching = watch();
    await rounds(watching, 1);
    expect(await waits()).toHaveLength(3);
    await written.rewind(chain.blocks[1]);
    chain = chain.fork(1);
    chain.add([{ kind: 'Deposited', poolId: COMPACT, account: SAVER, amount: '1' }], 1, 5);
    await written.apply(chain);
    some.target = honest;
    const other = await connectTo(written.databaseUrl);
    try {
      await other.query('BEGIN; SELECT FROM transactions WHERE block_number = 2 FOR UPDATE');
      await rounds(watching, 1);
      expect(await filled()).toEqual([]);
    } finally {
      await other.end();
    }
    await rounds(watching, 1);
    expect((await filled()).map(({ block }) => block)).toEqual([2]);
  });
});
