import type { Kind } from '#ledger/adapters/happening';
import { NOTHING } from '#indexer/reading/decode';
import { GENESIS, LOTTERY, PaperChain, SAVER, type Sketch, Written } from '../../support/chain/paper-chain';
import { verify } from '../../support/verify/verify-scene';

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const poolId = POOL.replaceAll('-', '');
const inPool = { poolId, account: SAVER };
const draw = { contract: LOTTERY, drawId: '1' };
/** Events from an adapter of another version, whose kinds the decisions and statements of this one do not know. */
const UNKNOWN = [
  { kind: 'Moved', ...inPool, amount: '50' },
  { kind: 'Paused', poolId },
  { kind: 'Donated', ...draw, account: SAVER, amount: '50' },
  { kind: 'DrawPostponed', ...draw, drawTime: GENESIS + 99 },
] as unknown as Sketch[];

/** Two blocks; in the second one, kinds that only a newer adapter gives are between other events. */
function chainOf(isNewer: boolean): PaperChain {
  const chain = new PaperChain();
  chain.add([
    { kind: 'Deposited', ...inPool, amount: '100' },
    { kind: 'DrawOpened', ...draw, amount: '5', drawTime: GENESIS + 60 },
    { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '2' },
    { kind: 'PrizeFunded', ...draw, account: SAVER, amount: '10' },
  ]);
  const known: Sketch[] = [
    { kind: 'Deposited', ...inPool, amount: '5' },
    { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '1' },
    { kind: 'Withdrawn', ...inPool, amount: '3' },
    { kind: 'YieldAccrued', poolId, amount: '9', aprBps: 400 },
  ];
  const both = known.flatMap((sketch, n) => [UNKNOWN[n], sketch]);
  const block = both.map((sketch, logIndex) => ({
    ...sketch,
    logIndex,
    txHash: `0x${`${logIndex}`.repeat(64)}`,
  }));
  chain.add(isNewer ? block : block.filter((_, n) => n % 2 === 1));
  for (let n = 0; n < 3; n++) chain.add();
  return chain;
}

const open = Written.use();
async function begin(chain: PaperChain, confirmations = 0): Promise<Written> {
  const written = await open(chain, confirmations);
  await written.addPool(POOL);
  return written;
}

const refused = UNKNOWN.map(({ kind }) => ({ kind, outcome: 'REFUSED', reason: 'unknown kind of event' }));
const setAside = (written: Written): Promise<unknown> =>
  written.sql(
    `SELECT kind, outcome, reason FROM chain_events WHERE outcome <> 'APPLIED' ORDER BY block_number, log_index`,
  );
/** All that follows from events. */
async function effect(written: Written): Promise<unknown> {
  const { transactions, pools, accruals, draws, tickets, positions, weights, rates, cursor } =
    await written.state();
  const state = { transactions, pools, accruals, draws, tickets, positions, weights, rates, cursor };
  const told = await written.sql<{ items: Record<string, unknown>[] }>(
    'SELECT items FROM outbox ORDER BY xid, position',
  );
  return { ...state, told: told.flatMap(({ items }) => items) };
}

it.each([0, 2])(
  'an event of a kind that nothing handles is set aside and changes nothing, with %i confirmations',
  async (confirmations) => {
    const [newer, older] = [chainOf(true), chainOf(false)];
    const [written, twin] = [await begin(newer, confirmations), await begin(older, confirmations)];
    const { anomalies, cursor } = await written.apply(newer);
    await twin.apply(older);
    expect(cursor.number).toBe(newer.head.number);
    expect([...anomalies]).toEqual([['refused', UNKNOWN.length]]);
    expect(await setAside(written)).toEqual(refused);
    const found = await effect(written);
    expect(found).toEqual(await effect(twin));
    // Neither repeated by the next batch, nor counted again.
    newer.add();
    expect([...(await written.apply(newer)).anomalies]).toEqual([]);
    expect(await written.sql('SELECT outcome, count FROM set_aside_counts')).toEqual([
      { outcome: 'REFUSED', count: '4' },
    ]);
    const report = await verify({ databaseUrl: written.operatorUrl, repair: false, limit: 10 });
    expect(report).toMatchObject({ notChecked: [], listed: [] });
    // Positions are computed again from all events, too.
    await written.sql('DELETE FROM position_journal');
    await written.rewind(newer.blocks[1 + confirmations]);
    expect(await written.sql(`SELECT FROM chain_events WHERE outcome = 'REFUSED'`)).toEqual([]);
    await written.apply(newer);
    expect(await setAside(written)).toEqual(refused);
    expect((await written.state()).positions).toEqual((await twin.state()).positions);
  },
);

it('one of a pool that does not exist yet waits for it, and is set aside then', async () => {
  const chain = chainOf(true);
  const written = await open(chain);
  await written.apply(chain);
  const ofPool = ['Deposited', 'Moved', 'Deposited', 'Paused', 'Withdrawn', 'YieldAccrued'];
  const unknown = ofPool.map((kind) => ({ kind, outcome: 'UNKNOWN_POOL' }));
  const waiting = (await setAside(written)) as { outcome: string }[];
  expect(waiting.filter(({ outcome }) => outcome === 'UNKNOWN_POOL')).toMatchObject(unknown);
  await written.addPool(POOL);
  chain.add();
  await written.apply(chain);
  expect(await setAside(written)).toEqual(refused);
  expect(await written.sql('SELECT balance FROM pools')).toEqual([{ balance: '102' }]);
});

it('one of a pool that was cancelled does not bring it back; money does', async () => {
  const chain = new PaperChain();
  const written = await begin(chain);
  const cancel = (): Promise<unknown[]> =>
    written.sql('SELECT cancel_pool($1, $2) AS outcome', [POOL, SAVER]);
  expect(await cancel()).toEqual([{ outcome: 'cancelled' }]);
  chain.add(UNKNOWN.slice(0, 2));
  await written.apply(chain);
  // The search for pools that have appeared finds none either.
  chain.add();
  await written.apply(chain);
  expect(await written.sql('SELECT FROM pools')).toEqual([]);
  expect(await setAside(written)).toMatchObject([{ outcome: 'UNKNOWN_POOL' }, { outcome: 'UNKNOWN_POOL' }]);
  chain.add([{ kind: 'Deposited', ...inPool, amount: '5' }]);
  await written.apply(chain);
  expect(await written.sql('SELECT balance FROM pools')).toEqual([{ balance: '5' }]);
  expect(await setAside(written)).toEqual(refused.slice(0, 2));
});

it('sets aside an event that its adapter cannot read, but not one without effect, and neither changes anything', async () => {
  const chain = new PaperChain();
  const written = await begin(chain);
  const unreadable = { kind: 'Moved' as Kind, poolId: null, drawId: null };
  chain.add([{ kind: 'Deposited', ...inPool, amount: '5' }, unreadable]);
  chain.add([{ kind: NOTHING }, { kind: 'Deposited', ...inPool, amount: '7' }]);
  await written.apply(chain);
  const report = await verify({ databaseUrl: written.operatorUrl, repair: false, limit: 10 });
  expect(report).toMatchObject({ notChecked: [], listed: [] });
  expect(await setAside(written)).toEqual([
    { kind: 'Moved', outcome: 'REFUSED', reason: 'unreadable event' },
  ]);
  expect(await written.sql('SELECT balance FROM pools')).toEqual([{ balance: '12' }]);
});
