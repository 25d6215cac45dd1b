import {
  TRANSACTION_STATUSES,
  TRANSACTION_TYPES,
  type TransactionStatus,
  type TransactionType,
} from '#values/types';
import { type CursorPageRow, cursorPage } from '#platform/answers/cursor';
import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { FINALIZED } from '#ledger/chain/chain.sql';
import { NOT_INDEXED, indexedCount, isReader, transactionFields } from '#features/pools/pools.sql';

const READ = { onStandby: true, chargedTo: 'caller' } as const;

const FIELDS = `${transactionFields('t')}, 'poolId', t.pool_id, 'blockNumber', t.block_number`;
const ITEM = `json_build_object(${FIELDS})`;
const JOIN_ROWS = 'JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true';

type Order = 'asc' | 'desc';
/** The rows that a page is taken from: the first `rows` of those between two ids, without these. All fields are SQL. */
interface Slice {
  order: Order;
  above: string;
  below: string;
  rows: string;
  /** The wanted status, or null for all. */
  status: string;
}
/** With the digit 0 before every id, with f after every id. */
const uuidOf = (digit: string): string => `'${digit.repeat(32)}'::uuid`;
/** A numbered page and all pages before it, so it costs as much as its offset. A cursor costs the same at any depth. */
const NUMBERED: Slice = {
  order: 'desc',
  above: uuidOf('0'),
  below: uuidOf('f'),
  rows: ':limit + :offset + 1',
  status: 'NULL::text',
};
const byCursor = (order: Order): Slice => ({
  order,
  above: ':above',
  below: ':below',
  rows: ':limit + 1',
  status: ':status',
});

/**
 * Two lists of the ids in the slice that meet a condition, one of them empty. The second one is for the statuses of
 * rows that are not on the chain: these rows are few and have an index of their own. The first one uses an index by type.
 */
const idsIn = ({ order, above, below, status }: Slice, where: string): [any: string, unconfirmed: string] => {
  const ids = (wanted: string): string => `
    SELECT id FROM transactions WHERE ${where} AND id > ${above} AND id < ${below} AND ${wanted} ORDER BY id ${order}`;
  return [
    ids(`(${status} IS NULL OR ${status} = 'CONFIRMED') AND (${status} IS NULL OR status = ${status})`),
    ids(`${status} IN ('PENDING', 'EXPIRED') AND status = ${status} AND status IN ('PENDING', 'EXPIRED')`),
  ];
};

/** Ids that meet one of the conditions, in order. Each is read by type, and no branch further than needed. */
const merged = (slice: Slice, conditions: string[]): string => {
  const branches = conditions.flatMap((where) => [
    ...TRANSACTION_TYPES.map(
      (type) => idsIn(slice, `(:type IS NULL OR :type = '${type}') AND ${where} AND type = '${type}'`)[0],
    ),
    idsIn(slice, `${where} AND (:type IS NULL OR type = :type)`)[1],
  ]);
  return `
    SELECT id FROM (${branches.map((ids) => `(${ids} LIMIT ${slice.rows})`).join(' UNION ALL ')}) merged
    ORDER BY id ${slice.order} LIMIT ${slice.rows}`;
};

/** Conditions: in the caller's own pools, and the caller's payments into pools of others. */
const OWN = ['owner_id = :user', 'account = :caller AND NOT by_owner'];
/** An outsider's payments into one pool. `IS TRUE` makes the planner find them by account, as the pool may be large. */
const OUTSIDE = 'account = :caller AND NOT by_owner AND (pool_id = :pool) IS TRUE';

/** The sum of the counts of the wanted type. `:type` is that type, or null for all. */
const total = (deposits: string, withdrawals: string, claims: string): string => `
  CASE WHEN :type IS NULL THEN ${deposits} + ${withdrawals} + ${claims}
    WHEN :type = 'DEPOSIT' THEN ${deposits} WHEN :type = 'WITHDRAWAL' THEN ${withdrawals}
    WHEN :type = 'YIELD_CLAIM' THEN ${claims} END`;

/** The pools of the caller's memberships that are not indexed, which are few: their counts, and the newest id of each type. */
const MEMBERSHIPS = `
  memberships AS MATERIALIZED (
    SELECT p.id, ${total('p.deposit_count', 'p.withdrawal_count', 'p.claim_count')} AS count,
      p.last_deposit_id, p.last_withdrawal_id, p.last_claim_id
    FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
    WHERE ${NOT_INDEXED('m')}
  )`;

/** All types and statuses, or nothing for callers without an indexed membership, which is usual. */
const KINDS = `(SELECT * FROM
  (VALUES ${TRANSACTION_TYPES.flatMap((type) => TRANSACTION_STATUSES.map((status) => `('${type}', '${status}')`)).join()})
    AS k(type, status)
  WHERE (SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = :caller)))`;
const WANTED_TYPE = '(:type IS NULL OR k.type = :type)';

/**
 * The transactions of one type in one pool are a stream. SELECT of the streams that the caller may read as a member,
 * with the id in each that comes first in the slice. The newest id of a stream is stored, of indexed memberships by
 * status and with the first one. So streams that lie on one side of the cursor need no look-up, only those around it:
 * on a first page none, and few where clients ask what is new. Only members of very many pools that were active for
 * long have pages that cost more, between the newest and the oldest.
 */
const streams = (slice: Slice): string => {
  const { order, above, below, rows, status } = slice;
  const few = (first: string): string => `
    SELECT m.id, k.type, ${first} AS first
    FROM memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
      ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest)
    WHERE k.newest > ${above} AND ${WANTED_TYPE}`;
  const indexed = (first: string, where: string): string => `
    SELECT s.pool_id, k.type, ${first} FROM ${KINDS} k CROSS JOIN LATERAL (
      SELECT pool_id, first_id, last_id FROM member_streams
      WHERE address = :caller AND type = k.type AND status = k.status AND ${where}) s
    WHERE ${WANTED_TYPE} AND (${status} IS NULL OR k.status = ${status})`;
  const newest = indexed(
    's.last_id',
    `last_id > ${above} AND last_id < ${below} ORDER BY last_id DESC LIMIT ${rows}`,
  );
  if (slice === NUMBERED) return `${few('k.newest')} UNION ALL ${newest}`;
  const lookUp = (pool: string, of: string): string =>
    `coalesce(${idsIn({ ...slice, status: of }, `pool_id = ${pool} AND type = k.type`)
      .map((ids) => `(${ids} LIMIT 1)`)
      .join()})`;
  const fewFirst = lookUp('m.id', status);
  const first = lookUp('s.pool_id', 'k.status');
  return order === 'asc'
    ? `${few(fewFirst)} UNION ALL ${indexed(
        `CASE WHEN s.first_id > ${above} THEN s.first_id ELSE ${first} END`,
        `last_id > ${above} AND first_id < ${below} OFFSET 0`,
      )}`
    : `${few(`CASE WHEN ${status} IS NULL AND k.newest < ${below} THEN k.newest ELSE ${fewFirst} END`)}
      UNION ALL ${newest}
      UNION ALL ${indexed(first, `last_id >= ${below} AND first_id < ${below} OFFSET 0`)}`;
};

/**
 * Everything the caller may read: the transactions of the caller's own pools, those of pools that the caller is a
 * member of, and the caller's payments into pools of others. A member's own payments are found twice. n rows are of n
 * streams at most: those that come first. Rows behind the first one of the n-th of these cannot be among them.
 */
const all = (slice: Slice): { ctes: string; ids: string } => {
  const { order, rows } = slice;
  const [end, last] = order === 'desc' ? ['0', '>='] : ['f', '<='];
  const ofMember = idsIn(
    slice,
    `pool_id = c.id AND type = c.type AND id ${last} (SELECT id FROM farthest)`,
  ).map((ids) => `(${ids} LIMIT ${rows})`);
  return {
    ctes: `${MEMBERSHIPS}, candidates AS MATERIALIZED (
        SELECT id, type, first FROM (${streams(slice)}) streams
        WHERE first IS NOT NULL ORDER BY first ${order} LIMIT ${rows}
      ), farthest AS MATERIALIZED (
        SELECT coalesce((SELECT first FROM candidates OFFSET greatest(${rows} - 1, 0)), ${uuidOf(end)}) AS id
      )`,
    ids: `
      SELECT DISTINCT id FROM (
        (${merged(slice, OWN)})
        UNION ALL
        SELECT t.id FROM candidates c CROSS JOIN LATERAL (${ofMember.join(' UNION ALL ')}) t
      ) found`,
  };
};

/** `type` null: all types. */
interface ListParameters {
  caller: string;
  type: TransactionType | null;
  limit: number;
  offset: number;
}

/** For FROM: a page of the rows with these ids, which are already in order. */
const page = (ids: string): string => `
  (SELECT ${cursorPage(ITEM, 'page.id')}
   FROM (SELECT id, row_number() OVER () AS n FROM (${ids}) ordered) page ${JOIN_ROWS})`;

const NUMBERED_ALL = all(NUMBERED);
export const LIST_TRANSACTIONS = statement<ListParameters & { user: string }, CursorPageRow>(
  'list_transactions',
  { user: 'uuid', caller: 'text', type: 'text', limit: 'integer', offset: 'bigint' },
  `
    WITH ${NUMBERED_ALL.ctes}, whole AS MATERIALIZED (
      SELECT (SELECT coalesce(sum(${total('deposits', 'withdrawals', 'claims')}), 0) FROM account_days WHERE address = :caller)
        + (SELECT coalesce(sum(count), 0) FROM memberships) + ${indexedCount(TRANSACTION_TYPES)} AS total
    )
    SELECT whole.total::int, list.data, list.next
    FROM whole, ${page(`${NUMBERED_ALL.ids} WHERE (SELECT total > :offset FROM whole)
      ORDER BY id DESC LIMIT :limit + 1 OFFSET :offset`)} list`,
  READ,
);

/**
 * For FROM: pool `p`, and `list` with the transactions that the caller may see: all for its readers (`m`),
 * their own for outsiders who paid into it, nulls for others.
 */
const asReader = (whole: string, outside: string): string => `
  pools p CROSS JOIN LATERAL (SELECT ${isReader('p.id', ':caller')} AS "seesAll" OFFSET 0) m
  LEFT JOIN LATERAL (
    SELECT * FROM ${whole} whole WHERE m."seesAll"
    UNION ALL
    SELECT * FROM ${outside} own WHERE NOT m."seesAll" AND EXISTS (SELECT FROM transactions WHERE ${OUTSIDE})
  ) list ON true
  WHERE p.id = :pool`;

/** Transactions of one pool; outsiders see only their own. */
export const LIST_POOL_TRANSACTIONS = statement<
  ListParameters & { pool: string },
  ReadableRow & Omit<CursorPageRow, 'data'>
>(
  'list_pool_transactions',
  { pool: 'uuid', caller: 'text', type: 'text', limit: 'integer', offset: 'bigint' },
  `
    SELECT
      CASE WHEN m."seesAll" THEN ${total('p.deposit_count', 'p.withdrawal_count', 'p.claim_count')}
        ELSE (SELECT count(*)::int FROM transactions WHERE ${OUTSIDE} AND (:type IS NULL OR type = :type)) END AS total,
      list.data, list.next
    FROM ${asReader(
      page(`SELECT id FROM (${merged(NUMBERED, ['pool_id = :pool'])}) found OFFSET :offset`),
      page(`SELECT id FROM (${merged(NUMBERED, [OUTSIDE])}) found OFFSET :offset`),
    )}`,
  READ,
);

interface CursorParameters {
  caller: string;
  /** null: all types. */
  type: TransactionType | null;
  /** null: all. */
  status: TransactionStatus | null;
  /** The list lies between these two ids and does not contain them. */
  above: string;
  below: string;
  limit: number;
}
const CURSOR_TYPES = {
  caller: 'text',
  type: 'text',
  status: 'text',
  above: 'uuid',
  below: 'uuid',
  limit: 'integer',
} as const;

/** By cursor, in either order. Nothing is counted or skipped, so every page costs the same. */
const transactionsAfter = (order: Order) => {
  const { ctes, ids } = all(byCursor(order));
  return statement<CursorParameters & { user: string }, CursorPageRow>(
    `transactions_${order}`,
    { ...CURSOR_TYPES, user: 'uuid' },
    `WITH ${ctes} SELECT data, next FROM ${page(`${ids} ORDER BY id ${order} LIMIT :limit + 1`)} list`,
    READ,
  );
};
export const TRANSACTIONS_AFTER = { asc: transactionsAfter('asc'), desc: transactionsAfter('desc') };

/** Of one pool; outsiders see only their own. */
const poolTransactionsAfter = (order: Order) => {
  const of = (where: string): string => page(merged(byCursor(order), [where]));
  return statement<CursorParameters & { pool: string }, ReadableRow & Omit<CursorPageRow, 'data'>>(
    `pool_transactions_${order}`,
    { ...CURSOR_TYPES, pool: 'uuid' },
    `SELECT list.data, list.next FROM ${asReader(of('pool_id = :pool'), of(OUTSIDE))}`,
    READ,
  );
};
export const POOL_TRANSACTIONS_AFTER = {
  asc: poolTransactionsAfter('asc'),
  desc: poolTransactionsAfter('desc'),
};

const TRANSACTION_DETAIL = `
  SELECT CASE WHEN readable THEN json_build_object(${FIELDS},
    'confirmedAt', iso(t.confirmed_at), 'to', p.contract_address,
    'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text, 'l1Fee', t.l1_fee::text,
    'final', coalesce(t.block_number <= ${FINALIZED}, false))::text END AS data
  FROM transactions t
  JOIN pools p ON p.id = t.pool_id
  CROSS JOIN LATERAL (SELECT t.account = :caller OR ${isReader('t.pool_id', ':caller')} AS readable) r`;

/**
 * A chain transaction may contain several of ours: returns the first that the caller may read. `data` is null when
 * there are some, but none that the caller may read.
 */
export const TRANSACTION_BY_HASH = statement<{ hash: string; caller: string }, ReadableRow>(
  'transaction_by_hash',
  { hash: 'text', caller: 'text' },
  `${TRANSACTION_DETAIL} WHERE t.tx_hash = :hash ORDER BY NOT readable, t.log_index LIMIT 1`,
  READ,
);

export const TRANSACTION_BY_ID = statement<{ id: string; caller: string }, ReadableRow>(
  'transaction_by_id',
  { id: 'uuid', caller: 'text' },
  `${TRANSACTION_DETAIL} WHERE t.id = :id`,
  READ,
);
