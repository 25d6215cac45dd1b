import { TRANSACTION_TYPES, type TransactionStatus, type TransactionType } from '#values/types';
import { type CursorPageRow, cursorPage } from '#platform/answers/cursor';
import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { FEW_STREAMS, IS_INDEXED, KINDS, MEMBERSHIPS, WANTED_TYPE, uuidOf } from './memberships.sql';
import { OUTSIDE, OWN, asReader, transactionItem } from './transactions.sql';

export type Order = 'asc' | 'desc';

/**
 * Lists by cursor, in either order. Nothing is counted or skipped, so every page costs the same, except for members of
 * very many pools: see `indexedStreams`.
 */
interface Parameters {
  caller: string;
  /** null: all types. */
  type: TransactionType | null;
  status: TransactionStatus | null;
  /** The list lies between these two ids and does not contain them. */
  above: string;
  below: string;
  limit: number;
}
const TYPES = {
  caller: 'text',
  type: 'text',
  status: 'text',
  above: 'uuid',
  below: 'uuid',
  limit: 'integer',
} as const;

const IN_RANGE = 'id > :above AND id < :below';
/** Few transactions are not on the chain, and they have their own indexes. */
const UNCONFIRMED = `status = :status AND status IN ('PENDING', 'EXPIRED')`;
const ANY_STATUS = `(:status IS NULL OR status = :status)`;

/** The nearest ids that meet one of the conditions. No branch is read further than needed. */
const nearest = (where: string[], order: Order): string => {
  const end = `${IN_RANGE} ORDER BY id ${order} LIMIT :limit + 1`;
  const branches = where.flatMap((each) => [
    ...TRANSACTION_TYPES.map(
      (type) => `
        (SELECT id FROM transactions
         WHERE (:type IS NULL OR :type = '${type}') AND (:status IS NULL OR :status = 'CONFIRMED')
           AND ${each} AND type = '${type}' AND ${ANY_STATUS} AND ${end})`,
    ),
    `(SELECT id FROM transactions
      WHERE :status IN ('PENDING', 'EXPIRED') AND ${each} AND ${UNCONFIRMED} AND (:type IS NULL OR type = :type)
        AND ${end})`,
  ]);
  return `SELECT id FROM (${branches.join(' UNION ALL ')}) merged ORDER BY id ${order} LIMIT :limit + 1`;
};

/**
 * Ids of stream `pool`, `type`, the nearest first: from the index of its type, or of those that are not confirmed.
 * `status` is the wanted one.
 */
const ofStream = (
  pool: string,
  type: string,
  status: string,
  order: Order,
  beyond = '',
): [string, string] => {
  const rows = `SELECT id FROM transactions WHERE pool_id = ${pool} AND type = ${type} AND ${IN_RANGE} ${beyond}`;
  return [
    `${rows} AND (${status} IS NULL OR status = ${status}) ORDER BY id ${order}`,
    `${rows} AND status = ${status} AND status IN ('PENDING', 'EXPIRED') ORDER BY id ${order}`,
  ];
};

/** The nearest id of a stream, by a look-up. */
const lookUp = (pool: string, status: string, order: Order): string => {
  const [any, unconfirmed] = ofStream(pool, 'k.type', status, order);
  return `CASE WHEN ${status} IN ('PENDING', 'EXPIRED') THEN (${unconfirmed} LIMIT 1) ELSE (${any} LIMIT 1) END`;
};

/** The stream's newest id is stored, so most streams of few memberships need no look-up. */
const fewStreams = (order: Order): string => `
  SELECT m.id, k.type, CASE WHEN k.newest IS NULL OR k.newest <= :above THEN NULL
    ${order === 'desc' ? `WHEN :status IS NULL AND k.newest < :below THEN k.newest` : ''}
    ELSE ${lookUp('m.id', ':status', order)} END AS nearest
  FROM ${FEW_STREAMS} WHERE ${WANTED_TYPE}`;

/**
 * The same of indexed memberships. Their first and newest ids are in the index, so streams that lie on one side of the
 * cursor need no look-up, only those around it do: on the first page none, and few where one asks what is new. In the
 * midst, or from the oldest on, the entries of all streams with newer rows are read. So only a person with very many
 * pools that were active for long has pages there that cost more.
 */
const indexedStreams = (order: Order): string => {
  const wanted = `${IS_INDEXED} AND ${WANTED_TYPE} AND (:status IS NULL OR k.status = :status)`;
  const streams = 'member_streams WHERE address = :caller AND type = k.type AND status = k.status';
  const each = (nearest: string, where: string): string => `
    SELECT s.pool_id, k.type, ${nearest} FROM ${KINDS} CROSS JOIN LATERAL (
      SELECT pool_id, first_id, last_id FROM ${streams} AND ${where}) s WHERE ${wanted}`;
  const nearest = lookUp('s.pool_id', 'k.status', order);
  return order === 'asc'
    ? each(
        `CASE WHEN s.first_id > :above THEN s.first_id ELSE ${nearest} END AS nearest`,
        'last_id > :above AND first_id < :below OFFSET 0',
      )
    : `${each('s.last_id', 'last_id > :above AND last_id < :below ORDER BY last_id DESC LIMIT :limit + 1')}
    UNION ALL ${each(nearest, 'last_id >= :below AND first_id < :below OFFSET 0')}`;
};

/** For FROM: a page of the rows with these ids, which are already in order. */
const page = (ids: string): string => `
  (SELECT ${cursorPage(transactionItem('t'), 'page.id')}
   FROM (SELECT id, row_number() OVER () AS n FROM (${ids}) ordered) page
   JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true)`;

/** Ids of candidate `c` up to the farthest that can be on the page. */
const ofCandidate = (order: Order): string => {
  const beyond = `AND id ${order === 'desc' ? '>=' : '<='} (SELECT id FROM farthest)`;
  const [any, unconfirmed] = ofStream('c.id', 'c.type', ':status', order, beyond);
  return `
    (SELECT id FROM (${any}) x WHERE :status IS NULL OR :status = 'CONFIRMED' LIMIT :limit + 1)
    UNION ALL
    (SELECT id FROM (${unconfirmed}) x WHERE :status IN ('PENDING', 'EXPIRED') LIMIT :limit + 1)`;
};

/**
 * Everything the caller may read, as in LIST_TRANSACTIONS. Of the streams that the caller may read as a member, only n
 * can have rows on a page of n rows: those whose nearest row is nearest. Rows beyond the nearest row of the n-th of
 * these streams cannot be on it.
 */
const all = (order: Order): string => `
  WITH ${MEMBERSHIPS}, candidates AS MATERIALIZED (
    SELECT id, type, nearest FROM (${fewStreams(order)} UNION ALL ${indexedStreams(order)}) streams
    WHERE nearest IS NOT NULL ORDER BY nearest ${order} LIMIT :limit + 1
  ), farthest AS MATERIALIZED (
    SELECT coalesce((SELECT nearest FROM candidates OFFSET :limit), ${uuidOf(order === 'desc' ? '0' : 'f')}) AS id
  )
  SELECT data, next FROM ${page(`
    SELECT DISTINCT id FROM (
      (${nearest(OWN, order)})
      UNION ALL
      SELECT t.id FROM candidates c CROSS JOIN LATERAL (${ofCandidate(order)}) t
    ) found ORDER BY id ${order} LIMIT :limit + 1`)} list`;

/** Transactions of one pool; outsiders see only their own. */
const ofPool = (order: Order): string => `
  SELECT list.data, list.next
  FROM ${asReader(page(nearest(['pool_id = :pool'], order)), page(nearest([OUTSIDE], order)))}`;

const WITH_USER = { ...TYPES, user: 'uuid' } as const;
export const TRANSACTIONS_AFTER = {
  asc: statement<Parameters & { user: string }, CursorPageRow>('transactions_asc', WITH_USER, all('asc'), {
    onStandby: true,
    chargedTo: 'caller',
  }),
  desc: statement<Parameters & { user: string }, CursorPageRow>('transactions_desc', WITH_USER, all('desc'), {
    onStandby: true,
    chargedTo: 'caller',
  }),
};

const WITH_POOL = { ...TYPES, pool: 'uuid' } as const;
type PoolRow = ReadableRow & Pick<CursorPageRow, 'next'>;
export const POOL_TRANSACTIONS_AFTER = {
  asc: statement<Parameters & { pool: string }, PoolRow>('pool_transactions_asc', WITH_POOL, ofPool('asc'), {
    onStandby: true,
    chargedTo: 'caller',
  }),
  desc: statement<Parameters & { pool: string }, PoolRow>(
    'pool_transactions_desc',
    WITH_POOL,
    ofPool('desc'),
    { onStandby: true, chargedTo: 'caller' },
  ),
};
