import type { Client } from 'pg';
import { LOCK_CURSOR } from './lottery.sql';
import * as sql from './positions.sql';
import { type PoolEvent, YieldModel } from './yield-model';

type Row = Record<string, string>;
type Rows = Record<sql.Table, Map<string, Row>>;

/** A stored value that differs from the one computed from the events. */
export interface PositionValue {
  table: sql.Table;
  pool: string;
  id: string;
  column: string;
  kept: string | null;
  recount: string | null;
}

/** Rows sent at once. */
const ROWS_PER_INSERT = 5000;

/** Replays the events of pools. The caller's transaction keeps them from changing. */
async function replayed(client: Client, ids: string[]): Promise<{ model: YieldModel; events: number }> {
  const model = new YieldModel();
  let events = 0;
  await client.query(sql.OPEN_EVENTS, [ids]);
  for (;;) {
    const { rows } = await client.query<Record<keyof PoolEvent, string>>(sql.NEXT_EVENTS);
    if (rows.length === 0) break;
    events += rows.length;
    for (const { kind, pool, account, amount, time } of rows)
      model.apply({
        kind: kind as PoolEvent['kind'],
        pool,
        account,
        amount: BigInt(amount ?? 0),
        time: BigInt(time),
      });
  }
  await client.query(sql.CLOSE_EVENTS);
  return { model, events };
}

/** The rows that the database should have for the state of the model. */
function rowsOf({ pools }: YieldModel): Rows {
  const rows: Rows = { pool_weights: new Map(), accrual_rates: new Map(), positions: new Map() };
  for (const [id, { total, offset, accruals, accounts }] of pools) {
    const last = accruals.at(-1);
    rows.pool_weights.set(id, {
      pool_id: id,
      total: `${total}`,
      weight_offset: `${offset}`,
      accruals: `${accruals.length}`,
      last_time: `${last?.time ?? 0}`,
      last_per_unit: `${last?.perUnit ?? 0}`,
    });
    accruals.forEach(({ time, perWeight, perUnit }, i) =>
      rows.accrual_rates.set(`${id} ${i + 1}`, {
        pool_id: id,
        number: `${i + 1}`,
        time: `${time}`,
        per_weight: `${perWeight}`,
        per_unit: `${perUnit}`,
      }),
    );
    for (const [address, account] of accounts)
      rows.positions.set(`${id} ${address}`, {
        pool_id: id,
        address,
        balance: `${account.balance}`,
        weight_offset: `${account.offset}`,
        owed: `${account.owed}`,
        accruals: `${account.accruals}`,
        deposited: `${account.deposited}`,
        withdrawn: `${account.withdrawn}`,
        claimed: `${account.claimed}`,
      });
  }
  return rows;
}

/** Compares the positions of pools with their events, both in one snapshot. */
export async function comparePositions(
  client: Client,
  ids: string[],
): Promise<{ events: number; positions: number; differences: PositionValue[] }> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    const { model, events } = await replayed(client, ids);
    const wanted = rowsOf(model);
    const differences: PositionValue[] = [];
    for (const table of sql.TABLE_NAMES) {
      const { rows } = await client.query<Row & { key: string }>(sql.stored(table), [ids]);
      const found = new Map(rows.map((row) => [row.key, row]));
      for (const id of new Set([...wanted[table].keys(), ...found.keys()]))
        for (const column of sql.TABLES[table].columns) {
          const kept = found.get(id)?.[column] ?? null;
          const recount = wanted[table].get(id)?.[column] ?? null;
          if (kept !== recount) differences.push({ table, pool: id.slice(0, 36), id, column, kept, recount });
        }
    }
    return { events, positions: wanted.positions.size, differences };
  } finally {
    await client.query('ROLLBACK');
  }
}

/** Writes the rows of pools again from their events. Call it in a transaction; the indexer waits for its end. */
export async function rebuildPositions(client: Client, ids: string[]): Promise<void> {
  await client.query(LOCK_CURSOR);
  const rows = rowsOf((await replayed(client, ids)).model);
  for (const statement of sql.CLEAR_POOLS) await client.query(statement, [ids]);
  for (const table of sql.TABLE_NAMES) {
    const all = [...rows[table].values()];
    for (let i = 0; i < all.length; i += ROWS_PER_INSERT)
      await client.query(sql.insert(table), [JSON.stringify(all.slice(i, i + ROWS_PER_INSERT))]);
  }
}
