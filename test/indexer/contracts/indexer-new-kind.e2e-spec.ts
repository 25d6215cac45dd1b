import { type AbiEvent, encodeAbiParameters, encodeEventTopics, parseAbi, toEventSelector } from 'viem';
import { POOL_TYPES } from '#values/types';
import type { Happening, Kind } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';
import { type ChainEvent, NOTHING } from '#indexer/reading/decode';
import { decoderFor } from '../../support/chain/adapters';
import {
  GENESIS,
  LOTTERY,
  PaperChain,
  POOLS_CONTRACT,
  SAVER,
  Written,
} from '../../support/chain/paper-chain';
import { verify } from '../../support/verify/verify-scene';

const abi = parseAbi([
  'event Moved(bytes16 indexed poolId, address indexed account, uint256 amount, uint64 seq)',
  'event Paused(bytes16 indexed poolId, uint64 seq)',
  'event Donated(uint64 indexed drawId, address indexed account, uint256 amount, uint64 seq)',
  'event DrawPostponed(uint64 indexed drawId, uint64 drawTime, uint64 seq)',
]);
const On = eventsOf(abi);

/** The adapter of another version: decisions and statements of this one do not know its kinds. */
@PoolContract({ types: POOL_TYPES, abi, numberedBy: 'seq' })
class NewerPool {
  @On('Moved')
  moved({ poolId, account, amount }: EventOf<typeof abi, 'Moved'>): Happening {
    return { kind: 'Moved', poolId, account, amount } as never;
  }

  @On('Paused')
  paused({ poolId }: EventOf<typeof abi, 'Paused'>): Happening {
    return { kind: 'Paused', poolId } as never;
  }

  @On('Donated')
  donated({ drawId, account, amount }: EventOf<typeof abi, 'Donated'>): Happening {
    return { kind: 'Donated', drawId, account, amount } as never;
  }

  @On('DrawPostponed')
  postponed({ drawId, drawTime }: EventOf<typeof abi, 'DrawPostponed'>): Happening {
    return { kind: 'DrawPostponed', drawId, drawTime } as never;
  }
}

const decode = decoderFor([POOLS_CONTRACT, LOTTERY], new NewerPool());

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const poolId = POOL.replaceAll('-', '');
const inPool = { poolId, account: SAVER };
const draw = { contract: LOTTERY, drawId: '1' };
const NEW = ['Moved', 'Paused', 'Donated', 'DrawPostponed'];

/** What a node sends of such an event, read as the indexer reads it. */
function decoded(
  kind: string,
  place: Pick<ChainEvent, 'blockNumber' | 'logIndex' | 'blockHash' | 'time'>,
): ChainEvent {
  const item: AbiEvent = abi.find(({ name }) => name === kind)!;
  const args = {
    poolId: `0x${poolId}`,
    drawId: 1n,
    account: SAVER,
    amount: 50n,
    drawTime: BigInt(GENESIS + 99),
    seq: 0n,
  };
  const values = args as Record<string, unknown>;
  const plain = item.inputs.filter(({ indexed }) => !indexed);
  const log = {
    address: item.inputs[0].name === 'poolId' ? POOLS_CONTRACT : LOTTERY,
    topics: encodeEventTopics({ abi: [item], args: args }) as string[],
    data: encodeAbiParameters(
      plain,
      plain.map(({ name }) => values[name!]),
    ),
    blockNumber: `0x${place.blockNumber.toString(16)}`,
    logIndex: `0x${place.logIndex.toString(16)}`,
    blockHash: place.blockHash,
    transactionHash: `0x${'7'.repeat(64)}`,
  };
  expect(log.topics[0]).toBe(toEventSelector(item));
  return decode(log, place.time) as ChainEvent;
}

/** Two blocks; in the second one those of new kinds are between others. */
function chainOf(isNewer: boolean): PaperChain {
  const chain = new PaperChain();
  chain.add([
    { kind: 'Deposited', ...inPool, amount: '100' },
    { kind: 'DrawOpened', ...draw, amount: '5', drawTime: GENESIS + 60 },
    { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '2' },
    { kind: 'PrizeFunded', ...draw, account: SAVER, amount: '10' },
  ]);
  const known = [
    { kind: 'Deposited', ...inPool, amount: '5' },
    { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '1' },
    { kind: 'Withdrawn', ...inPool, amount: '3' },
    { kind: 'YieldAccrued', poolId, amount: '9', aprBps: 400 },
  ] as const;
  const block = chain.add(known.map((sketch, n) => ({ ...sketch, logIndex: 2 * n + 1 })));
  const more = NEW.map((kind, n) =>
    decoded(kind, { ...block, blockNumber: block.number, blockHash: block.hash, logIndex: 2 * n }),
  );
  if (isNewer) block.events = [...block.events, ...more].sort((a, b) => a.logIndex - b.logIndex);
  const counts = new Map<string, number>();
  for (const event of chain.blocks.flatMap(({ events }) => events)) {
    counts.set(event.contract, (counts.get(event.contract) ?? 0) + 1);
    event.seq = counts.get(event.contract)!;
  }
  for (let n = 0; n < 3; n++) chain.add();
  return chain;
}

const all: Written[] = [];
afterEach(async () => {
  for (const each of all.splice(0)) await each.stop();
});
async function begin(chain: PaperChain, confirmations = 0): Promise<Written> {
  const written = await new Written().start(chain, confirmations);
  all.push(written);
  await written.addPool(POOL);
  return written;
}

const refused = NEW.map((kind) => ({ kind, outcome: 'REFUSED', reason: 'unknown kind of event' }));
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
    expect([...anomalies]).toEqual([['refused', NEW.length]]);
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
    expect(report).toMatchObject({ notChecked: [], differences: {} });
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
  const written = await new Written().start(chain);
  all.push(written);
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
  const block = chain.add();
  const place = { ...block, blockNumber: block.number, blockHash: block.hash };
  block.events = ['Moved', 'Paused'].map((kind, n) => ({
    ...decoded(kind, { ...place, logIndex: n }),
    seq: n + 1,
  }));
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

it('one that its adapter cannot read is set aside, one in which nothing happened is not, and neither changes anything', async () => {
  const chain = new PaperChain();
  const written = await begin(chain);
  const unreadable = { kind: 'Moved' as Kind, poolId: null, drawId: null };
  chain.add([{ kind: 'Deposited', ...inPool, amount: '5' }, unreadable]);
  chain.add([{ kind: NOTHING }, { kind: 'Deposited', ...inPool, amount: '7' }]);
  await written.apply(chain);
  const report = await verify({ databaseUrl: written.operatorUrl, repair: false, limit: 10 });
  expect(report).toMatchObject({ notChecked: [], differences: {} });
  expect(await setAside(written)).toEqual([
    { kind: 'Moved', outcome: 'REFUSED', reason: 'unreadable event' },
  ]);
  expect(await written.sql('SELECT balance FROM pools')).toEqual([{ balance: '12' }]);
});
