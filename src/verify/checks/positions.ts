import { type Look, type Value, unique } from './look';
import { LOCK_CURSOR } from './events.sql';
import { type Row, compareRows, namesOf, writeRows } from './model-rows';
import * as sql from './positions.sql';
import { type Account, type Pool, type PoolEvent, YieldModel } from './yield-model';

type Table = keyof typeof sql.POSITIONS.tables;

/** A row as it was before a block; the address is empty for the pool's own. */
interface Former {
  /** The driver returns bigint as text. */
  block: string;
  pool: string;
  address: string;
  former: string[] | null;
}

const keyOf = ({ block, pool, address }: Omit<Former, 'former'>): string => `${block} ${pool} ${address}`;

/**
 * Replays the events of pools. The caller's transaction keeps them from changing.
 * @param former keys of rows that are wanted as they were before a block; filled with their values
 */
async function replayed(
  { client }: Look,
  ids: string[],
  former = new Map<string, string[] | null | undefined>(),
): Promise<{ model: YieldModel; events: number }> {
  const model = new YieldModel();
  let events = 0;
  const note = (block: string, pool: string, address: string): void => {
    const key = keyOf({ block, pool, address });
    if (former.has(key) && former.get(key) === undefined) former.set(key, valuesOf(model, pool, address));
  };
  await client.query(sql.OPEN_EVENTS, [ids]);
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

/** In the order of the columns of POSITIONS; null if there is no row. */
function valuesOf({ pools }: YieldModel, id: string, address: string): string[] | null {
  const pool = pools.get(id);
  if (!pool) return null;
  if (address === '') return weightsOf(pool).map(String);
  const account = pool.accounts.get(address);
  return account ? positionOf(account).map(String) : null;
}

const named = (table: Table, values: (bigint | number)[]): Row =>
  Object.fromEntries(sql.POSITIONS.tables[table].columns.map((column, i) => [column, `${values[i]}`]));

/** The rows that the database should have for the state of the model. */
function rowsOf({ pools }: YieldModel): Record<Table, Row[]> {
  const rows: Record<Table, Row[]> = { pool_weights: [], accrual_rates: [], positions: [] };
  for (const [id, pool] of pools) {
    rows.pool_weights.push({ pool_id: id, ...named('pool_weights', weightsOf(pool)) });
    pool.accruals.forEach(({ time, perWeight, perUnit }, i) =>
      rows.accrual_rates.push({
        pool_id: id,
        number: `${i + 1}`,
        ...named('accrual_rates', [time, perWeight, perUnit]),
      }),
    );
    for (const [address, account] of pool.accounts)
      rows.positions.push({ pool_id: id, address, ...named('positions', positionOf(account)) });
  }
  return rows;
}

interface Compared {
  events: number;
  positions: number;
  differences: (Value & { table: Table; pool: string })[];
  /** Rows from before a block that are wrong. */
  former: Former[];
}

/** Replays the events of pools, and compares positions, and what is kept to take blocks back, in the same snapshot. */
export function replayPositions(look: Look, ids: string[]): Promise<Compared> {
  return look.reading(async () => {
    const journal = await look.rows<Former>(sql.JOURNAL, ids);
    const before = new Map<string, string[] | null | undefined>(
      journal.map((row) => [keyOf(row), undefined]),
    );
    const { model, events } = await replayed(look, ids, before);
    const wanted = rowsOf(model);
    const found = await compareRows(look, sql.POSITIONS, [ids], wanted);
    const differences = namesOf(sql.POSITIONS).flatMap((table) =>
      found[table].map((value) => ({ table, pool: value.id.slice(0, 36), ...value })),
    );
    const text = (values: string[] | null | undefined): string | null => values?.join(' ') ?? null;
    // A row of a block without an event of its account: nothing should be kept.
    const former = journal.filter((row) => {
      const right = before.get(keyOf(row));
      return right === undefined || text(row.former) !== text(right);
    });
    return { events, positions: wanted.positions.length, differences, former };
  });
}

/**
 * Compares what accounts hold and have earned with a replay of the pools' events. Call it after the events and pools are
 * compared: they find the pools whose events are themselves in doubt, and these are left out.
 */
export async function comparePositions(look: Look, ids: string[]): Promise<void> {
  const { client, findings } = look;
  const { events, positions, differences, former } = await replayPositions(look, ids);
  findings.count('positions', positions);
  findings.count('replayed events', events);
  const wrong = unique(differences.map(({ pool }) => pool));
  for (const table of namesOf(sql.POSITIONS)) {
    const some = differences.filter((each) => each.table === table);
    // The indexer waits for its end.
    await look.report(table, some, async () => {
      await client.query(LOCK_CURSOR);
      const { model } = await replayed(look, wrong);
      await writeRows(look, sql.POSITIONS, [wrong], rowsOf(model));
      await client.query(sql.CLEAR_JOURNAL, [wrong]);
    });
  }
  // Without these rows the indexer takes blocks back by replaying.
  const asValues = former.map((row) => ({
    id: keyOf(row),
    column: 'former',
    kept: row.former?.join(' ') ?? 'no row',
    recount: null,
  }));
  await look.report('position_journal', asValues, async () => {
    await client.query(LOCK_CURSOR);
    const columns = (['block', 'pool', 'address'] as const).map((name) => former.map((row) => row[name]));
    await client.query(sql.FORGET_FORMER, columns);
  });
}

/** What is kept to take blocks back for pools that do not exist. */
export async function compareFormer(look: Look): Promise<void> {
  const found = await look.rows<Value>(sql.JOURNAL_OF_NONE);
  await look.report('position_journal', found, () =>
    look.client.query(sql.CLEAR_JOURNAL, [unique(found.map(({ kept }) => kept))]),
  );
}
