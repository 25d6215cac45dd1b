import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { ChainEvent } from '#indexer/reading/decode';
import { membersOf } from './circles';
import { type Item, type PoolState, isCircleKind, movesNothing } from './decide';
import {
  type PoolPositions,
  type Position,
  type PositionEvent,
  type Weights,
  accountsOf,
  applyEvent,
  changesPositions,
  noWeights,
} from './positions';
import * as sql from './positions.sql';

/** Which blocks take effect, and which of those may still be undone. */
export interface Reach {
  effective: number;
  /** For each block after this one, the rows are stored as they were before it. */
  journalAbove: number;
}

/**
 * Undoes the effect of all blocks after `effective`, while their events are still stored. Uses the journal as far as it
 * reaches.
 * @param contract whose events alone are undone; null: all
 * @returns pools of which the journal lacks rows; rebuild them after the undone events are removed
 */
export async function undoPositions(
  client: Client,
  effective: number,
  contract: string | null,
): Promise<string[]> {
  const { rows } = await client.query<{ pool: string }>(sql.RESTORE_FORMER, [effective, contract]);
  await client.query(sql.FORGET_FORMER, [effective, contract]);
  return rows.map(({ pool }) => pool);
}

/** Number of pools whose events are replayed together. */
const REBUILT_AT_ONCE = 100;

/**
 * Every confirmed event of a known pool from the pool's own contract counts, even if the ledger rejected it, because the
 * contract has counted it too. Those of a circle that is not the pool's have nothing to do with the pool.
 */
const countsForPositions = (
  event: ChainEvent,
  pool: Pick<PoolState, 'contract' | 'circle'> | undefined,
  effective: number,
): event is ChainEvent & PositionEvent =>
  event.poolId !== null &&
  event.blockNumber <= effective &&
  pool?.contract === event.contract &&
  changesPositions(event.kind) &&
  !movesNothing(event) &&
  (!isCircleKind(event.kind) || event.circleId === pool.circle);

/**
 * Brings positions up to date with events, in chain order.
 * @returns how many events the reference contract cannot have emitted
 */
export async function applyToPositions(
  client: Client,
  items: Item[],
  pools: Map<string, PoolState>,
  { effective, journalAbove }: Reach,
): Promise<number> {
  const events = items
    .map(({ event }) => event)
    .filter((event) => countsForPositions(event, pools.get(event.poolId ?? ''), effective));
  if (events.length === 0) return 0;
  const turns = events.filter(({ kind }) => kind === 'RoundEnded').map(({ poolId }) => poolId);
  if (turns.length === 0) return replay(client, events, journalAbove);
  const members = await membersOf(client, turns);
  const complete = events.map((event) =>
    event.kind === 'RoundEnded' ? { ...event, members: members.get(event.poolId) } : event,
  );
  return replay(client, complete, journalAbove);
}

/** Rebuilds the positions of pools from their events. */
export async function rebuildPositions(client: Client, pools: string[]): Promise<void> {
  for (let i = 0; i < pools.length; i += REBUILT_AT_ONCE) {
    const some = [pools.slice(i, i + REBUILT_AT_ONCE)];
    for (const statement of [...sql.CLEAR_POOLS, sql.OPEN_EVENTS]) await client.query(statement, some);
    for (;;) {
      const { rows } = await client.query<PositionEvent>(sql.NEXT_EVENTS);
      if (rows.length === 0) break;
      await replay(client, rows, Infinity);
    }
    await client.query(sql.CLOSE_EVENTS);
  }
}

async function replay(client: Client, events: PositionEvent[], journalAbove: number): Promise<number> {
  const pools = await load(client, events);
  const former = new FormerRows();
  let wrong = 0;
  for (const event of events) {
    const pool = pools.get(event.poolId)!;
    if (event.blockNumber > journalAbove) former.keep(pool, event);
    const effect = applyEvent(pool, event);
    if (effect !== 'exact') wrong += 1;
    if (effect !== 'impossible') pool.exists = true;
  }
  await former.save(client, journalAbove);
  await savePositions(
    client,
    [...pools.values()].filter(({ exists }) => exists),
  );
  return wrong;
}

async function load(client: Client, events: PositionEvent[]): Promise<Map<string, LoadedPool>> {
  const pools = new Map<string, LoadedPool>();
  for (const event of events) {
    let pool = pools.get(event.poolId);
    if (!pool) pools.set(event.poolId, (pool = emptyPool(event.poolId)));
    for (const account of accountsOf(event)) pool.accounts.add(account);
  }
  const weights = await client.query<WeightsRow & { pool: string }>({
    ...sql.LOAD_WEIGHTS,
    values: [literal([...pools.keys()])],
  });
  for (const row of weights.rows)
    Object.assign(pools.get(row.pool)!, { weights: toWeights(row), kept: row.accruals, exists: true });
  const pairs = [...pools.values()].flatMap(({ id, accounts }) =>
    [...accounts].map((address) => [id, address]),
  );
  const positions = await client.query<LoadedPosition>({
    ...sql.LOAD_POSITIONS,
    values: [0, 1].map((n) => literal(pairs.map((pair) => pair[n]))),
  });
  for (const row of positions.rows) {
    const pool = pools.get(row.pool)!;
    pool.positions.set(row.address, toPosition(row));
    if (row.firstTime === null) continue;
    pool.accruals.set(row.accruals + 1, {
      time: BigInt(row.firstTime),
      perWeight: BigInt(row.firstPerWeight!),
      perUnit: BigInt(row.firstPerUnit!),
    });
  }
  return pools;
}

/** A pool, with those of its accounts that a batch touches. */
interface LoadedPool extends PoolPositions {
  id: string;
  accounts: Set<string>;
  /** The number of accruals that the database has. */
  kept: number;
  /** Whether the pool has a row, in the database or in this batch. */
  exists: boolean;
}

const emptyPool = (id: string): LoadedPool => ({
  ...{ id, accounts: new Set(), kept: 0, exists: false },
  ...{ weights: noWeights(), accruals: new Map(), positions: new Map() },
});

/** Rows as the driver returns them. */
type Row<T> = { [K in keyof T]: T[K] extends bigint ? string : T[K] };
type WeightsRow = Row<Weights>;
type PositionRow = Row<Position>;

type LoadedPosition = PositionRow & { pool: string; address: string } & Record<
    'firstTime' | 'firstPerWeight' | 'firstPerUnit',
    string | null
  >;

const toWeights = (row: WeightsRow): Weights => ({
  total: BigInt(row.total),
  offset: BigInt(row.offset),
  accruals: row.accruals,
  lastTime: BigInt(row.lastTime),
  lastPerUnit: BigInt(row.lastPerUnit),
});

const toPosition = (row: PositionRow): Position => ({
  balance: BigInt(row.balance),
  offset: BigInt(row.offset),
  owed: BigInt(row.owed),
  accruals: row.accruals,
  deposited: BigInt(row.deposited),
  withdrawn: BigInt(row.withdrawn),
  claimed: BigInt(row.claimed),
});

/** In the order of the parameters of SAVE_POSITIONS. */
const WEIGHT_COLUMNS = ['id', 'total', 'offset', 'accruals', 'lastTime', 'lastPerUnit'] as const;
const RATE_COLUMNS = ['id', 'number', 'time', 'perWeight', 'perUnit'] as const;
const POSITION_COLUMNS = [
  'id',
  'address',
  'balance',
  'offset',
  'owed',
  'accruals',
  'deposited',
  'withdrawn',
  'claimed',
] as const;

/** An array literal. The values are digits and hex, so nothing needs quoting. */
const literal = (values: (string | number | bigint)[]): string => `{${values.join(',')}}`;

/** Writes the rows of these pools and their accounts. */
async function savePositions(client: Client, changed: LoadedPool[]): Promise<void> {
  if (changed.length === 0) return;
  const pools = changed.map(({ id, weights }) => ({ id, ...weights }));
  const rates = changed.flatMap(({ id, weights, accruals, kept }) =>
    Array.from({ length: weights.accruals - kept }, (_, i) => kept + 1 + i).map((number) => ({
      id,
      number,
      ...accruals.get(number)!,
    })),
  );
  const positions = changed.flatMap(({ id, positions: all }) =>
    [...all].map(([address, position]) => ({ id, address, ...position })),
  );
  const values = [
    ...WEIGHT_COLUMNS.map((column) => literal(pools.map((row) => row[column]))),
    ...RATE_COLUMNS.map((column) => literal(rates.map((row) => row[column]))),
    ...POSITION_COLUMNS.map((column) => literal(positions.map((row) => row[column]))),
  ];
  await client.query({ ...sql.SAVE_POSITIONS, values });
}

/** The address under which the journal stores the pool's own row. */
const POOL = '';

interface Former {
  block: number;
  pool: string;
  address: string;
  /** JSON; null if there was no row. */
  row: string | null;
}

/**
 * Rows as they were before the blocks that change them. Added yield cannot be computed back, so the old rows are kept.
 */
class FormerRows {
  private readonly rows = new Map<string, Former>();

  /** Call it before applying each event of a block that may be undone. */
  keep(pool: LoadedPool, event: PositionEvent): void {
    const { blockNumber } = event;
    this.keepOnce(blockNumber, pool.id, POOL, () => (pool.exists ? toJson(pool.weights) : null));
    for (const account of accountsOf(event)) {
      const position = pool.positions.get(account);
      this.keepOnce(blockNumber, pool.id, account, () => (position ? toJson(position) : null));
    }
  }

  private keepOnce(block: number, pool: string, address: string, row: () => string | null): void {
    const key = `${block} ${pool} ${address}`;
    if (!this.rows.has(key)) this.rows.set(key, { block, pool, address, row: row() });
  }

  /** Drops the rows of blocks up to `dropUpTo`, which are no longer needed. */
  async save(client: Client, dropUpTo: number): Promise<void> {
    const rows = [...this.rows.values()];
    if (rows.length === 0) return;
    await client.query(sql.KEEP_FORMER, [...columnsOf(rows, 'block', 'pool', 'address', 'row'), dropUpTo]);
  }
}

/** As JSON for the journal. */
const toJson = (row: Weights | Position): string =>
  JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
