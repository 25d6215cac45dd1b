import { LOCK_CURSOR, type Look, type Value, unique } from './look';
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
const EVENTS = `
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
  look: Look,
  ids: string[],
  former = new Map<string, string[] | null | undefined>(),
): Promise<{ model: YieldModel; events: number }> {
  const model = new YieldModel();
  let events = 0;
  const note = (block: string, pool: string, address: string): void => {
    const key = keyOf({ block, pool, address });
    if (former.has(key) && former.get(key) === undefined) former.set(key, valuesOf(model, pool, address));
  };
  type Stored = Record<Exclude<keyof PoolEvent, 'members'> | 'block', string> & { members: string[] | null };
  for await (const rows of look.stream<Stored>(EVENTS, ids)) {
    events += rows.length;
    for (const event of rows) {
      const { pool, account, amount, block, members } = event;
      if (former.size > 0)
        for (const address of ['', ...(account === null ? [] : [account]), ...(members ?? [])])
          note(block, pool, address);
      const kind = event.kind as PoolEvent['kind'];
      model.apply({ ...event, kind, amount: BigInt(amount ?? 0), time: BigInt(event.time) });
    }
  }
  return { model, events };
}

const asText = (values: Record<string, bigint | number>): Row =>
  Object.fromEntries(Object.entries(values).map(([column, value]) => [column, `${value}`]));
/** In the order of the columns of POSITIONS. */
const weightsOf = ({ total, offset, accruals }: Pool): Row => {
  const [last, count] = [accruals.at(-1), accruals.length];
  const rate = { last_time: last?.time ?? 0, last_per_unit: last?.perUnit ?? 0 };
  return asText({ total, weight_offset: offset, accruals: count, ...rate });
};
const positionOf = ({ balance, offset, owed, ...counts }: Account): Row => {
  const { accruals, deposited, withdrawn, claimed } = counts;
  return asText({ balance, weight_offset: offset, owed, accruals, deposited, withdrawn, claimed });
};

/** @returns null if there is no row */
function valuesOf({ pools }: YieldModel, id: string, address: string): string[] | null {
  const pool = pools.get(id);
  const account = pool?.accounts.get(address);
  const row = address === '' ? pool && weightsOf(pool) : account && positionOf(account);
  return row ? (Object.values(row) as string[]) : null;
}

/** The rows that the database should have for the state of the model. */
function rowsOf({ pools }: YieldModel): Record<Table, Row[]> {
  const all = [...pools];
  return {
    pool_weights: all.map(([id, pool]) => ({ pool_id: id, ...weightsOf(pool) })),
    accrual_rates: all.flatMap(([id, { accruals }]) =>
      accruals.map(({ time, perWeight, perUnit }, i) => ({
        pool_id: id,
        ...asText({ number: i + 1, time, per_weight: perWeight, per_unit: perUnit }),
      })),
    ),
    positions: all.flatMap(([id, { accounts }]) =>
      [...accounts].map(([address, account]) => ({ pool_id: id, address, ...positionOf(account) })),
    ),
  };
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
