import type { Client } from 'pg';
import { membersOf } from './circles';
import type { ChainEvent } from '#indexer/reading/decode';
import { type Item, type PoolState, isCircleKind, isPoolKind, movesNothing } from './decide';
import { FormerRows } from './position-journal';
import {
  type LoadedPool,
  type PositionRow,
  type WeightsRow,
  literal,
  savePositions,
  toPosition,
  toWeights,
} from './position-rows';
import { type PositionEvent, accountsOf, applyEvent, changesPositions, noWeights } from './positions';
import * as sql from './positions.sql';

/** Which blocks take effect, and which of those may still be undone. */
export interface Reach {
  effective: number;
  /** For each block after this one, the rows are stored as they were before it. */
  journalAbove: number;
}

/** Number of pools whose events are replayed together. */
const REBUILT_AT_ONCE = 100;

/**
 * Every confirmed event of a known pool from the pool's own contract counts, even if the ledger rejected it, because the
 * contract has counted it too. Those of a circle that is not the pool's have nothing to do with the pool.
 */
export const countsForPositions = (
  event: ChainEvent,
  pool: Pick<PoolState, 'contract' | 'circle'> | undefined,
  effective: number,
): event is ChainEvent & PositionEvent =>
  event.poolId !== null &&
  event.blockNumber <= effective &&
  pool?.contract === event.contract &&
  isPoolKind(event.kind) &&
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

/** Rebuilds the positions of pools that have no rows from their events. */
export async function rebuildPositions(client: Client, pools: string[]): Promise<void> {
  for (let i = 0; i < pools.length; i += REBUILT_AT_ONCE) {
    await client.query(sql.OPEN_EVENTS, [pools.slice(i, i + REBUILT_AT_ONCE)]);
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
  const changed = new Map<LoadedPool, Set<string>>();
  let wrong = 0;
  for (const event of events) {
    const pool = pools.get(event.poolId)!;
    if (event.blockNumber > journalAbove) former.keep(pool, event);
    const effect = applyEvent(pool, event);
    if (effect !== 'exact') wrong += 1;
    if (effect === 'impossible') continue;
    pool.exists = true;
    let accounts = changed.get(pool);
    if (!accounts) changed.set(pool, (accounts = new Set()));
    for (const account of accountsOf(event)) accounts.add(account);
  }
  await former.save(client, journalAbove);
  await savePositions(client, changed);
  return wrong;
}

async function load(client: Client, events: PositionEvent[]): Promise<Map<string, LoadedPool>> {
  const accounts = new Map<string, Set<string>>();
  for (const event of events) {
    const { poolId } = event;
    let touched = accounts.get(poolId);
    if (!touched) accounts.set(poolId, (touched = new Set()));
    for (const account of accountsOf(event)) touched.add(account);
  }
  const pools = new Map<string, LoadedPool>();
  for (const id of accounts.keys())
    pools.set(id, {
      id,
      weights: noWeights(),
      accruals: new Map(),
      positions: new Map(),
      kept: 0,
      exists: false,
    });
  const weights = await client.query<WeightsRow & { pool: string }>({
    ...sql.LOAD_WEIGHTS,
    values: [literal([...accounts.keys()])],
  });
  for (const row of weights.rows)
    Object.assign(pools.get(row.pool)!, { weights: toWeights(row), kept: row.accruals, exists: true });
  const pairs = [...accounts].flatMap(([pool, some]) => [...some].map((address) => [pool, address]));
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

type LoadedPosition = PositionRow & { pool: string; address: string } & Record<
    'firstTime' | 'firstPerWeight' | 'firstPerUnit',
    string | null
  >;
