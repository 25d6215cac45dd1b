import type { Client } from 'pg';
import { LOCK_CURSOR } from './lottery.sql';
import * as sql from './positions.sql';
import { type Account, type Pool, type PoolEvent, YieldModel } from './yield-model';

type Row = Record<string, string>;
type Rows = Record<sql.Table, Map<string, Row>>;

/** A stored value that differs from the one computed from the events. */
export interface PositionValue {
  table: sql.Table | 'position_journal';
  pool: string;
  id: string;
  column: string;
  kept: string | null;
  recount: string | null;
}

/** A row as it was before a block; the address is empty for the pool's own. */
export interface Former {
  /** The driver returns bigint as text. */
  block: string;
  pool: string;
  address: string;
  former: string[] | null;
}

/** Rows sent at once. */
const ROWS_PER_INSERT = 5000;

const keyOf = ({ block, pool, address }: Omit<Former, 'former'>): string => `${block} ${pool} ${address}`;

/**
 * Replays the events of pools. The caller's transaction keeps them from changing.
 * @param former keys of rows that are wanted as they were before a block; filled with their values
 */
async function replayed(
  client: Client,
  ids: string[],
  times: 'block' | 'ledger' = 'block',
  former = new Map<string, string[] | null | undefined>(),
): Promise<{ model: YieldModel; events: number }> {
  const model = new YieldModel();
  let events = 0;
  const note = (block: string, pool: string, address: string): void => {
    const key = keyOf({ block, pool, address });
    if (former.has(key) && former.get(key) === undefined) former.set(key, valuesOf(model, pool, address));
  };
  await client.query(sql.openEvents(times), [ids]);
  for (;;) {
    const { rows } = await client.query<
      Record<Exclude<keyof PoolEvent, 'members'> | 'block', string> & { members: string[] | null }
    >(sql.NEXT_EVENTS);
    if (rows.length === 0) break;
    events += rows.length;
    for (const { kind, pool, account, amount, time, block, members } of rows) {
      note(block, pool, '');
      if (account !== null) note(block, pool, account);
      for (const member of members ?? []) note(block, pool, member);
      model.apply({
        kind: kind as PoolEvent['kind'],
        pool,
        account,
        amount: BigInt(amount ?? 0),
        time: BigInt(time),
        members,
      });
    }
  }
  await client.query(sql.CLOSE_EVENTS);
  return { model, events };
}

const weightsOf = ({ total, offset, accruals }: Pool): (bigint | number)[] => {
  const last = accruals.at(-1);
  return [total, offset, accruals.length, last?.time ?? 0, last?.perUnit ?? 0];
};
const positionOf = (account: Account): (bigint | number)[] => [
  account.balance,
  account.offset,
  account.owed,
  account.accruals,
  account.deposited,
  account.withdrawn,
  account.claimed,
];

/** In the order of the columns of TABLES; null if there is no row. */
function valuesOf({ pools }: YieldModel, id: string, address: string): string[] | null {
  const pool = pools.get(id);
  if (!pool) return null;
  if (address === '') return weightsOf(pool).map(String);
  const account = pool.accounts.get(address);
  return account ? positionOf(account).map(String) : null;
}

const named = (table: sql.Table, values: (bigint | number)[]): Row =>
  Object.fromEntries(sql.TABLES[table].columns.map((column, i) => [column, `${values[i]}`]));

/** The rows that the database should have for the state of the model. */
function rowsOf({ pools }: YieldModel): Rows {
  const rows: Rows = { pool_weights: new Map(), accrual_rates: new Map(), positions: new Map() };
  for (const [id, pool] of pools) {
    rows.pool_weights.set(id, { pool_id: id, ...named('pool_weights', weightsOf(pool)) });
    pool.accruals.forEach(({ time, perWeight, perUnit }, i) =>
      rows.accrual_rates.set(`${id} ${i + 1}`, {
        pool_id: id,
        number: `${i + 1}`,
        ...named('accrual_rates', [time, perWeight, perUnit]),
      }),
    );
    for (const [address, account] of pool.accounts)
      rows.positions.set(`${id} ${address}`, {
        pool_id: id,
        address,
        ...named('positions', positionOf(account)),
      });
  }
  return rows;
}

interface Compared {
  events: number;
  positions: number;
  differences: PositionValue[];
  /** Rows from before a block that are wrong. */
  former: Former[];
}

/** Compares the positions of pools with their events, both in one snapshot, and what is kept to take blocks back. */
export async function comparePositions(
  client: Client,
  ids: string[],
  times: 'block' | 'ledger' = 'block',
): Promise<Compared> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    const journal = (await client.query<Former>(sql.JOURNAL, [ids])).rows;
    const before = new Map<string, string[] | null | undefined>(
      journal.map((row) => [keyOf(row), undefined]),
    );
    const { model, events } = await replayed(client, ids, times, before);
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
    const text = (values: string[] | null | undefined): string | null => values?.join(' ') ?? null;
    // A row of a block without an event of its account: nothing should be kept.
    const former = journal.filter((row) => {
      const right = before.get(keyOf(row));
      return right === undefined || text(row.former) !== text(right);
    });
    return { events, positions: wanted.positions.size, differences, former };
  } finally {
    await client.query('ROLLBACK');
  }
}

/** Each as a difference: what is kept of it, and what it was. */
export const asDifferences = (former: Former[]): PositionValue[] =>
  former.map((row) => ({
    table: 'position_journal',
    pool: row.pool,
    id: keyOf(row),
    column: 'former',
    kept: row.former?.join(' ') ?? 'no row',
    recount: null,
  }));

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
