import type { Confirmations } from '#settings/indexer.settings';
import { type Fields, type PublishedRow, READ_ALL } from '../support/events/outbox';
import { LOTTERY, PaperChain, SAVER, Written } from '../support/chain/paper-chain';

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const paid = { kind: 'Deposited', poolId: POOL.replaceAll('-', ''), account: SAVER, amount: '10' } as const;

/** What a ledger does with blocks that nodes call safe and final. */
describe('a ledger of blocks that become final', () => {
  let chain: PaperChain;
  let written: Written;
  const open = Written.use();

  async function begin(confirmations: Confirmations = 0, from = chain): Promise<Written> {
    const made = await open(from, confirmations);
    await made.addPool(POOL);
    return made;
  }
  /** A chain with a deposit in every block. */
  beforeEach(async () => {
    chain = new PaperChain();
    while (chain.head.number < 10) chain.add([paid]);
  });
  const outcomes = (): Promise<string[]> =>
    written.column(`SELECT string_agg(left(outcome, 1), '' ORDER BY block_number) FROM chain_events`);
  const cursor = async (): Promise<object> =>
    (
      await written.sql<object>(
        'SELECT applied_number::int AS applied, finalized_number::int AS finalized FROM chain_cursor',
      )
    )[0];
  /** The same as without confirmations, and in one batch. */
  async function isAsAtOnce(): Promise<void> {
    const once = await begin(0);
    await once.apply(chain);
    expect(await written.state()).toEqual(await once.state());
  }
  const told = async (): Promise<Fields[]> =>
    (await written.sql<PublishedRow>(READ_ALL)).flatMap(({ items }) =>
      (items as Fields[]).filter(({ blockNumber }) => blockNumber !== undefined),
    );

  it('tells with each event whether its block is final, and takes none of those back', async () => {
    written = await begin();
    const draw = { contract: LOTTERY, drawId: '3' };
    chain.add([{ kind: 'YieldAccrued', poolId: paid.poolId, amount: '5', aprBps: 400 }]);
    chain.add([{ kind: 'DrawOpened', ...draw, amount: '5', drawTime: 2_000_000_000 }]);
    await written.apply(chain, 5, 12, { finalized: 3 });
    await written.apply(chain, 12, 12, { finalized: 11 });
    expect((await told()).map(({ blockNumber, final }) => [blockNumber, final])).toEqual([
      ...[1, 2, 3].map((block) => [block, true]),
      ...[4, 5].map((block) => [block, false]),
      ...[6, 7, 8, 9, 10, 11].map((block) => [block, true]),
      [12, false],
    ]);
    await written.rewind(chain.blocks[11]);
    const [last] = (await told()).slice(-1);
    expect(last).toMatchObject({ topic: 'transaction.reverted', blockNumber: 12 });
    expect(last).not.toHaveProperty('final');
  });

  it('says of nothing that it is final while no node does', async () => {
    written = await begin();
    await written.apply(chain);
    expect((await told()).filter(({ final }) => final !== false)).toEqual([]);
    expect(await cursor()).toEqual({ applied: 10, finalized: null });
  });

  it.each([
    ['finalized' as const, { finalized: 4, safe: 8 }, 4],
    ['safe' as const, { finalized: 4, safe: 8 }, 8],
    ['safe' as const, { finalized: 4 }, 4],
  ])('has in effect what is %s: of %j up to %i', async (confirmations, marks, applied) => {
    written = await begin(confirmations);
    await written.apply(chain, 10, 10);
    expect(await outcomes()).toEqual(['W'.repeat(10)]);
    await written.apply(chain, 10, 10, marks);
    expect(await outcomes()).toEqual(['A'.repeat(applied) + 'W'.repeat(10 - applied)]);
    expect(await cursor()).toEqual({ applied, finalized: 4 });
    await written.rewind(chain.blocks[6]);
    expect(await outcomes()).toEqual([
      'A'.repeat(Math.min(applied, 6)) + 'W'.repeat(6 - Math.min(applied, 6)),
    ]);
    await written.apply(chain, 10, 10, { finalized: 10, safe: 10 });
    await isAsAtOnce();
  });

  it('keeps what is in effect when CONFIRMATIONS becomes finalized, and has all of it when it is 0 again', async () => {
    written = await begin(0);
    await written.apply(chain, 6, 6, { finalized: 2 });
    written.confirm('finalized');
    await written.apply(chain, 8, 8, { finalized: 4 });
    expect([await outcomes(), await cursor()]).toEqual([['AAAAAAWW'], { applied: 6, finalized: 4 }]);
    await written.apply(chain, 9, 9, { finalized: 7 });
    expect([await outcomes(), await cursor()]).toEqual([['AAAAAAAWW'], { applied: 7, finalized: 7 }]);
    written.confirm(0);
    await written.apply(chain, 10, 10, { finalized: 7 });
    expect(await cursor()).toEqual({ applied: 10, finalized: 7 });
    await isAsAtOnce();
  });

  it('takes up in steps what has waited while finality stalled', async () => {
    written = await begin('finalized');
    while (chain.head.number < 12) chain.add(Array.from({ length: 1_200 }, () => paid));
    while (chain.head.number < 90) chain.add();
    await written.apply(chain, 90, 90, { finalized: 3 });
    const steps: unknown[] = [];
    for (let i = 0; i < 3; i += 1) {
      await written.apply(chain, 90, 90, { finalized: 90 });
      steps.push(await cursor());
    }
    expect(steps).toEqual([12, 90, 90].map((applied) => ({ applied, finalized: 90 })));
    await isAsAtOnce();
  });

  it('does not go back with a node that falls back, only with the ledger itself', async () => {
    written = await begin();
    await written.apply(chain, 9, 9, { finalized: 7 });
    await written.apply(chain, 10, 10, { finalized: 3 });
    expect(await cursor()).toMatchObject({ finalized: 7 });
    await written.rewind(chain.blocks[8]);
    expect(await cursor()).toMatchObject({ finalized: 7 });
    await written.rewind(chain.blocks[5]);
    expect(await cursor()).toEqual({ applied: 5, finalized: 5 });
  });

  it('takes no block of another branch for final, which it has yet to follow', async () => {
    written = await begin();
    await written.apply(chain, 10, 10, { finalized: 7 });
    const branch = chain.fork(8);
    while (branch.head.number < 12) branch.add([paid], 12, 1);
    // The node has gone over to it. The ledger has not looked yet.
    const nothing = { to: written.cursor, blocks: [], events: [] };
    const mark = (number: number) => ({ finalized: { number, hashes: [branch.blocks[number].hash] } });
    for (const number of [9, 12])
      await written.writer.apply(written.cursor, nothing, { state: 'synced', head: 12, marks: mark(number) });
    expect(await cursor()).toMatchObject({ finalized: 7 });
    await written.rewind(branch.blocks[8]);
    await written.apply(branch, 12, 12, { finalized: 12 });
    expect(await cursor()).toMatchObject({ finalized: 12 });
  });

  it('keeps headers back to the last final block', async () => {
    written = await begin();
    const numbers = async (): Promise<unknown> =>
      (
        await written.sql<object>(
          'SELECT min(number)::int AS from, count(*)::int AS count FROM chain_blocks WHERE number > 0',
        )
      )[0];
    for (let to = 50; to <= 300; to += 50) {
      while (chain.head.number < to) chain.add();
      await written.apply(chain, to, to, { finalized: Math.min(to - 2, 100) });
    }
    expect(await numbers()).toEqual({ from: 100, count: 201 });
    // A reorganisation of 199 blocks.
    await written.rewind(chain.blocks[101]);
    await written.apply(chain, 140);
    for (let to = 200; to <= 300; to += 50) await written.apply(chain, to, to, { finalized: to - 2 });
    expect(await numbers()).toEqual({ from: 236, count: 65 });
  });
});
