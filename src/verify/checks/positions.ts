import { type Look, type Value, unique } from './look';
import { LOCK_CURSOR } from './events.sql';
import { type Row, compareRows, namesOf, writeRows, type Model } from './model-rows';
import { type Account, type Pool, type PoolEvent, YieldModel } from './yield-model';

/** Positions and what their yield is computed from. Parameter: pool ids. */
const POSITIONS = {
  tables: {
    pool_weights: {
      key: ['pool_id'],
      columns: ['total', 'weight_offset', 'accruals', 'last_time', 'last_per_unit'],
    },
    accrual_rates: { key: ['pool_id', 'number'], columns: ['time', 'per_weight', 'per_unit'] },
    positions: {
      key: ['pool_id', 'address'],
      columns: ['balance', 'weight_offset', 'owed', 'accruals', 'deposited', 'withdrawn', 'claimed'],
    },
  },
  of: 't.pool_id = ANY($1::uuid[])',
} satisfies Model<string>;

const FORMER: Record<string, string> = {
  weight_offset: 'offset',
  last_time: 'lastTime',
  last_per_unit: 'lastPerUnit',
};
const former = (table: 'pool_weights' | 'positions'): string =>
  `ARRAY[${POSITIONS.tables[table].columns.map((column) => `'${FORMER[column] ?? column}'`).join(', ')}]`;
/**
 * What the indexer keeps to take blocks back: rows as they were before a block, in the columns of their table. Parameter:
 * pool ids. Row: block, pool, address (empty: the pool's own row), whether there was a row, its values.
 */
const JOURNAL = `
  SELECT j.block_number AS block, j.pool_id AS pool, j.address, CASE WHEN jsonb_typeof(j.former) = 'object' THEN ARRAY(
    SELECT j.former ->> c FROM unnest(CASE j.address WHEN '' THEN ${former('pool_weights')} ELSE ${former('positions')} END) c)
    END AS former
  FROM position_journal j WHERE j.pool_id = ANY($1::uuid[])`;
/** Parameters: blocks, pools, addresses. */
const FORGET_FORMER = `
  DELETE FROM position_journal j USING unnest($1::bigint[], $2::uuid[], $3::text[]) AS w(block, pool, address)
  WHERE j.block_number = w.block AND j.pool_id = w.pool AND j.address = w.address`;

/** Former rows are no good after a repair; without them the indexer goes back by replaying. Parameter: pool ids. */
const CLEAR_JOURNAL = 'DELETE FROM position_journal WHERE pool_id = ANY($1::uuid[])';
/**
 * What counts for a contract of pools, in the order of the chain: the confirmed ledger, and events of the pool's own
 * contract that are set aside. Parameter: pool ids.
 */
const OPEN_EVENTS = `
  DECLARE verified_events NO SCROLL CURSOR FOR
  SELECT pool, kind, account, amount::text, extract(epoch FROM time)::bigint::text AS time, block_number AS block,
    members
  FROM (
    SELECT t.pool_id AS pool, t.block_number, t.log_index, t.account, t.amount, t.confirmed_at AS time,
      CASE t.type WHEN 'DEPOSIT' THEN 'Deposited' WHEN 'WITHDRAWAL' THEN 'Withdrawn'
        WHEN 'YIELD_CLAIM' THEN 'YieldClaimed' END AS kind, NULL::text[] AS members
    FROM transactions t WHERE t.pool_id = ANY($1::uuid[]) AND t.status = 'CONFIRMED'
    UNION ALL
    SELECT y.pool_id, y.block_number, y.log_index, NULL, y.amount, y.accrued_at, 'YieldAccrued',
      NULL
    FROM yield_accruals y WHERE y.pool_id = ANY($1::uuid[])
    UNION ALL
    SELECT e.pool_id, e.block_number, e.log_index, e.account, e.amount, e.block_time,
      CASE WHEN e.kind IN ('Joined', 'Contributed') THEN 'Deposited'
        WHEN e.kind IN ('PaidOut', 'CircleRefunded') THEN 'Withdrawn' ELSE e.kind END, NULL
    FROM pools p JOIN chain_events e ON e.pool_id = p.id AND e.contract = p.contract_address
    WHERE p.id = ANY($1::uuid[]) AND e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED')
      AND (e.circle_id IS NULL AND (e.shares IS NULL OR e.amount > 0) OR e.kind <> 'RoundEnded' AND e.amount > 0 AND EXISTS (SELECT FROM chain_events o
        WHERE o.kind = 'CircleOpened' AND o.outcome = 'APPLIED' AND o.pool_id = p.id AND o.circle_id = e.circle_id))
    UNION ALL
    SELECT e.pool_id, e.block_number, e.log_index, e.account, e.amount, e.block_time, e.kind,
      (SELECT array_agg(n.account) FROM chain_events n WHERE n.contract = e.contract AND n.circle_id = e.circle_id
        AND n.kind = 'MemberNamed' AND n.outcome = 'APPLIED')
    FROM chain_events o JOIN chain_events e ON e.contract = o.contract AND e.circle_id = o.circle_id
    WHERE o.pool_id = ANY($1::uuid[]) AND o.kind = 'CircleOpened' AND o.outcome = 'APPLIED'
      AND e.kind = 'RoundEnded' AND e.outcome NOT IN ('WAITING', 'UNKNOWN_POOL')
  ) events ORDER BY pool, block_number, log_index`;
const NEXT_EVENTS = 'FETCH 5000 FROM verified_events';
const CLOSE_EVENTS = 'CLOSE verified_events';

type Table = keyof typeof POSITIONS.tables;

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
  await client.query(OPEN_EVENTS, [ids]);
  for (;;) {
    const { rows } = await client.query<
      Record<Exclude<keyof PoolEvent, 'members'> | 'block', string> & { members: string[] | null }
    >(NEXT_EVENTS);
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
  await client.query(CLOSE_EVENTS);
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
  Object.fromEntries(POSITIONS.tables[table].columns.map((column, i) => [column, `${values[i]}`]));

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
    const journal = await look.rows<Former>(JOURNAL, ids);
    const before = new Map<string, string[] | null | undefined>(
      journal.map((row) => [keyOf(row), undefined]),
    );
    const { model, events } = await replayed(look, ids, before);
    const wanted = rowsOf(model);
    const found = await compareRows(look, POSITIONS, [ids], wanted);
    const differences = namesOf(POSITIONS).flatMap((table) =>
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
  for (const table of namesOf(POSITIONS)) {
    const some = differences.filter((each) => each.table === table);
    // The indexer waits for its end.
    await look.report(table, some, async () => {
      await client.query(LOCK_CURSOR);
      const { model } = await replayed(look, wrong);
      await writeRows(look, POSITIONS, [wrong], rowsOf(model));
      await client.query(CLEAR_JOURNAL, [wrong]);
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
    await client.query(FORGET_FORMER, columns);
  });
}
