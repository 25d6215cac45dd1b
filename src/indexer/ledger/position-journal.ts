import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import {
  type LoadedPool,
  type PositionRow,
  type WeightsRow,
  savePositions,
  toJson,
  toPosition,
  toWeights,
} from './position-rows';
import { type PositionEvent, accountsOf, noWeights } from './positions';
import * as sql from './positions.sql';

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
export class FormerRows {
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

/** The former rows of a pool that loses events, and of its accounts. */
interface Loss {
  pool: string;
  /** Null if the journal does not reach back far enough. */
  rows: { address: string; former: WeightsRow | PositionRow | null }[] | null;
}

/**
 * Undoes the effect of all blocks after `effective`, while their events are still stored. Uses the journal as far as it
 * reaches.
 * @param contract whose events alone are undone; null: all
 * @returns pools that now have no positions; rebuild them from their events after the undone events are removed
 */
export async function undoPositions(
  client: Client,
  effective: number,
  contract: string | null,
): Promise<string[]> {
  const { rows: losses } = await client.query<Loss>(sql.FIND_FORMER, [effective, contract]);
  await restore(client, losses);
  await client.query(sql.FORGET_FORMER, [effective, contract]);
  const unknown = losses.filter(({ rows }) => rows === null).map(({ pool }) => pool);
  if (unknown.length > 0) for (const statement of sql.CLEAR_POOLS) await client.query(statement, [unknown]);
  return unknown;
}

async function restore(client: Client, losses: Loss[]): Promise<void> {
  const changed = new Map<LoadedPool, Set<string>>();
  const known = losses.flatMap(({ pool, rows }) => (rows ? [{ pool, rows }] : []));
  if (known.length === 0) return;
  const kept: number[] = [];
  const empty: string[] = [];
  const left: [pool: string, address: string][] = [];
  for (const { pool: id, rows } of known) {
    const own = rows.find(({ address }) => address === POOL)!.former as WeightsRow | null;
    const weights = own ? toWeights(own) : noWeights();
    const pool: LoadedPool = {
      id,
      weights,
      accruals: new Map(),
      positions: new Map(),
      kept: weights.accruals,
      exists: true,
    };
    for (const { address, former } of rows) {
      if (address === POOL) continue;
      if (former) pool.positions.set(address, toPosition(former as PositionRow));
      else left.push([id, address]);
    }
    kept.push(pool.kept);
    if (own) changed.set(pool, new Set(pool.positions.keys()));
    else empty.push(id);
  }
  await client.query(sql.DELETE_RATES, [known.map(({ pool }) => pool), kept]);
  await client.query(sql.DELETE_WEIGHTS, [empty]);
  await client.query(sql.DELETE_POSITIONS, [left.map(([id]) => id), left.map(([, address]) => address)]);
  await savePositions(client, changed);
}
