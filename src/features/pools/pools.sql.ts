import { POOL_TYPES, type PoolType, TRANSACTION_TYPES } from '#values/types';
import { type CursorPageRow, cursorPage } from '#platform/answers/cursor';
import { removeExpired } from '#platform/database/expired-rows';
import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { aprBps, isCompounding, shareYield, totalYield } from '#ledger/chain/chain.sql';
import type { UpdatePoolRequest } from './pools.dto';
import { submitted } from './unpaid.sql';

/** SQL: what lists of pools show of the transaction `t`. */
export const transactionFields = (t: string): string => `
  'id', ${t}.id, 'type', ${t}.type, 'amount', ${t}.amount::text, 'txHash', ${t}.tx_hash, 'status', ${t}.status,
  'submitted', ${submitted(t)}, 'createdAt', iso(${t}.created_at), 'from', ${t}.account`;

/**
 * The newest transactions of the pool, newest first. There is one branch per type, merged in order, because the index
 * begins with pool and type. This way one index serves the filtered and the unfiltered lists.
 */
const newestTransactions = (pool: string, limit: number): string => `
  (SELECT coalesce(json_agg(json_build_object(${transactionFields('t')})), '[]')
   FROM (${TRANSACTION_TYPES.map(
     (type) =>
       `(SELECT * FROM transactions WHERE pool_id = ${pool} AND type = '${type}' ORDER BY id DESC LIMIT ${limit})`,
   ).join(' UNION ALL ')} ORDER BY id DESC LIMIT ${limit}) t)`;

/** The settings that a pool's owner may change, with the types of their columns, which are never null. */
const SETTINGS = { autoCompound: 'boolean' } as const satisfies Record<keyof UpdatePoolRequest, string>;
const columnOf = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const forEach = (text: (field: string, column: string) => string): string =>
  Object.keys(SETTINGS)
    .map((field) => text(field, columnOf(field)))
    .join(', ');

/** SQL: the settings of the pool `p`, or of a cancelled one, as fields of its JSON. */
export const settingsOf = (p: string): string => forEach((field, column) => `'${field}', ${p}.${column}`);

const POOL_FIELDS = `
  'id', p.id, 'type', p.type, 'contractAddress', p.contract_address, 'balance', p.balance::text,
  'pendingBalance', p.pending_balance::text, 'totalYield', ${totalYield('p', 'v')}::text,
  'apr', trim_scale(${aprBps('p', 'v')} / 100.0), ${settingsOf('p')},
  'createdAt', iso(p.created_at), 'lastUpdate', iso(p.last_update)`;

const POOL_ITEM = `json_build_object(${POOL_FIELDS},
  'members', p.member_count, 'recentTransactions', ${newestTransactions('p.id', 10)})`;

interface ListParameters {
  /** Lower-cased address. */
  caller: string;
  /** null: all types. */
  type: PoolType | null;
  limit: number;
  offset: number;
  /** The pool after which the page begins; null for a numbered page. */
  after: string | null;
}

/** The caller's memberships that are looked up: few, however many pools others make the caller a member of. */
export const NOT_INDEXED = (m: string): string =>
  `NOT ${m}.indexed AND ${m}.role = 'MEMBER' AND ${m}.address = :caller`;

/** SQL: the counts of the wanted type, or of all these types, over the caller's indexed memberships. */
export const indexedCount = (types: readonly string[]): string => `
  (SELECT coalesce(sum(count), 0) FROM member_counts WHERE address = :caller
    AND CASE WHEN :type IS NULL THEN type IN (${types.map((type) => `'${type}'`).join()}) ELSE type = :type END)`;

/** Parts of pool_members: the caller's pools of one type, one part for each index and beginning of it. */
const OF_TYPE = [`role = 'OWNER'`, `role = 'MEMBER' AND indexed`, `role = 'MEMBER' AND NOT indexed`].map(
  (part) => `pool_members WHERE address = :caller AND ${part} AND type = :type`,
);
const OF_ANY_TYPE = 'pool_members WHERE address = :caller AND :type IS NULL';

/** SQL: how many pools the user owns, by the sums that are kept: some own many. */
export const countOwnedBy = (user: string, condition = 'true'): string =>
  `(SELECT coalesce(sum(pools), 0) FROM owner_totals WHERE owner_id = ${user} AND ${condition})`;

/** Own pools and memberships beyond the first few are summed up, the few are counted. */
const TOTAL = `
  ${countOwnedBy('(SELECT id FROM users WHERE address = :caller)', '(type = :type OR :type IS NULL)')}
  + (SELECT count(*) FROM pool_members m WHERE ${NOT_INDEXED('m')} AND (:type IS NULL OR m.type = :type))
  + ${indexedCount(POOL_TYPES)}`;

/** Ids of the caller's pools, newest first. Reads no branch further than needed. */
const NEWEST_POOLS = `
  SELECT pool_id FROM (${[OF_ANY_TYPE, ...OF_TYPE]
    .map(
      (pools) => `(SELECT pool_id FROM ${pools} AND pool_id < coalesce(:after, '${'f'.repeat(32)}')
      ORDER BY pool_id DESC LIMIT :limit + :offset + 1)`,
    )
    .join(' UNION ALL ')}) merged
  ORDER BY pool_id DESC LIMIT :limit + 1 OFFSET :offset`;

/** Newest first. */
export const LIST_POOLS = statement<ListParameters, CursorPageRow>(
  'list_pools',
  { caller: 'text', type: 'text', limit: 'integer', offset: 'bigint', after: 'uuid' },
  `
    SELECT CASE WHEN :after IS NULL THEN (${TOTAL})::int END AS total, ${cursorPage(POOL_ITEM, 'page.pool_id')}
    FROM (SELECT pool_id, row_number() OVER () AS n FROM (${NEWEST_POOLS}) found) page
    JOIN LATERAL (SELECT * FROM pools WHERE id = page.pool_id OFFSET 0) p ON true ${shareYield('p.id')}`,
  { onStandby: true, chargedTo: 'caller' },
);

/**
 * SQL: whether the address may read the pool: as its owner, a member or, of a contract that is one pool, as one who has
 * something in it. The first caller creates such a pool, and owns no more of it than others do.
 */
export const isReader = (pool: string, address: string): string => `(
  EXISTS (SELECT FROM pool_members m WHERE m.pool_id = ${pool} AND m.address = ${address})
  OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
    WHERE o.pool_id = ${pool} AND o.address = ${address}))`;

export const POOL_DETAIL = statement<{ pool: string; caller: string }, ReadableRow>(
  'pool_detail',
  { pool: 'uuid', caller: 'text' },
  `
    SELECT CASE WHEN ${isReader('p.id', ':caller')} THEN json_build_object(${POOL_FIELDS},
      'owner', json_build_object('id', u.id, 'address', u.address),
      'memberAddresses', (SELECT coalesce(json_agg(m.address ORDER BY m.address), '[]') FROM pool_members m
        WHERE m.pool_id = p.id AND m.address <> u.address),
      'transactions', ${newestTransactions('p.id', 100)})::text END AS data
    FROM pools p JOIN users u ON u.id = p.owner_id ${shareYield('p.id')} WHERE p.id = :pool`,
  { onStandby: true, chargedTo: 'caller' },
);

/**
 * apy = (1 + apr/365)^365 - 1 in percent. An apr above 100,000 % counts as 100,000 %, so that the power stays within
 * double precision.
 */
export const POOL_YIELD = statement<{ pool: string; caller: string }, ReadableRow>(
  'pool_yield',
  { pool: 'uuid', caller: 'text' },
  `
    SELECT CASE WHEN ${isReader('p.id', ':caller')} THEN json_build_object(
      'totalYield', ${totalYield('p', 'v')}::text,
      'claimableYield', greatest(${totalYield('p', 'v')} - p.claimed_yield, 0)::text,
      'apr', trim_scale(${aprBps('p', 'v')} / 100.0),
      'apy', trim_scale(round(
        ((power(1 + least(${aprBps('p', 'v')}, 10000000) / 3650000.0::float8, 365) - 1) * 100)::numeric, 2)),
      'lastClaimed', iso(p.last_claimed_at))::text END AS data
    FROM pools p ${shareYield('p.id')} WHERE p.id = :pool`,
  { onStandby: true, chargedTo: 'caller' },
);

/** Element n of each array is of pool n. */
export interface NewPools {
  pools: string[];
  types: PoolType[];
  owners: string[];
  contracts: string[];
  autoCompound: boolean[];
  /** Lower-cased addresses, without the owner's, as text of an array, which needs no quotes for them: `{0x…,0x…}`. */
  members: string[];
  createdAt: string[];
  ownerAddresses: string[];
  /** Ids of the pending transactions. */
  deposits: string[];
  amounts: string[];
}

const NEW_POOLS_TYPES = {
  pools: 'uuid[]',
  types: 'text[]',
  owners: 'uuid[]',
  contracts: 'text[]',
  autoCompound: 'boolean[]',
  members: 'text[]',
  createdAt: 'timestamptz[]',
  ownerAddresses: 'text[]',
  deposits: 'uuid[]',
  amounts: 'numeric[]',
} as const;

/**
 * new_pools is a view. Its INSTEAD OF trigger create_pools writes the pools, their members, their DEPOSITs and all that
 * is derived. A trigger, because derived tables refuse every write that does not come from one.
 */
export const CREATE_POOLS = statement<NewPools, never>(
  'create_pools',
  NEW_POOLS_TYPES,
  `
    INSERT INTO new_pools VALUES (:pools, :types, :owners, :contracts, :autoCompound, :members, :createdAt,
      :ownerAddresses, :deposits, :amounts)`,
);

/**
 * The same with an idempotency key for each pool. Returns the pools that it creates. It creates none for a key that is
 * in use: another request holds its lock, or its record is less than a day old. Of several with one key it creates one.
 */
export const CREATE_POOLS_ONCE = statement<
  NewPools & { keys: string[]; requestHashes: string[]; answers: string[] },
  { pool: string }
>(
  'create_pools_once',
  { ...NEW_POOLS_TYPES, keys: 'text[]', requestHashes: 'text[]', answers: 'text[]' },
  `
    WITH attempt AS MATERIALIZED (
      SELECT *, pg_try_advisory_xact_lock(hashtextextended(owner || ' ' || key, 0)) AS locked
      FROM (
        SELECT *, row_number() OVER (PARTITION BY owner, key) AS n
        FROM unnest(:pools, :types, :owners, :contracts, :autoCompound, :members, :createdAt, :ownerAddresses,
          :deposits, :amounts, :keys, :requestHashes, :answers) AS a (
          pool, type, owner, contract, auto_compound, members, created_at, address, deposit, amount, key, hash, answer)
      ) numbered WHERE n = 1
    ), record AS (
      INSERT INTO idempotency_keys AS i (user_id, key, request_hash, response, created_at)
      SELECT owner, key, hash, answer, now() FROM attempt WHERE locked
      ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
        SET request_hash = excluded.request_hash, response = excluded.response, created_at = excluded.created_at
        WHERE i.created_at < now() - interval '24 hours'
      RETURNING user_id, key
    ), made AS (
      INSERT INTO new_pools
      SELECT array_agg(pool), array_agg(type), array_agg(owner), array_agg(contract), array_agg(auto_compound),
        array_agg(members), array_agg(created_at), array_agg(address), array_agg(deposit), array_agg(amount)
      FROM attempt JOIN record ON user_id = owner AND record.key = attempt.key HAVING count(*) > 0
      RETURNING pools
    )
    SELECT unnest(pools) AS pool FROM made`,
);

/** The first answer to a request with the key in the last 24 hours, and whether its pool has been cancelled since. */
export const FIRST_ANSWER = statement<
  { user: string; key: string },
  { requestHash: string; response: string; isCancelled: boolean }
>(
  'first_answer',
  { user: 'uuid', key: 'text' },
  `SELECT request_hash AS "requestHash", response,
     EXISTS (SELECT FROM cancelled_pools c WHERE c.id = (response::json ->> 'id')::uuid) AS "isCancelled"
   FROM idempotency_keys WHERE user_id = :user AND key = :key AND created_at >= now() - interval '24 hours'`,
  { chargedTo: 'user' },
);

const COLUMNS = forEach((_, column) => column);
const WANTED = forEach((field, column) => `coalesce(:${field}, ${column})`);

/**
 * Sets what the owner wants, and reads what the owner's wallet has set on the chain. Nothing is written if it is so already.
 * Data is null for anyone else. No row: the pool does not exist.
 */
export const UPDATE_POOL = statement<{ pool: string; caller: string } & UpdatePoolRequest, ReadableRow>(
  'update_pool',
  { pool: 'uuid', caller: 'text', ...SETTINGS },
  `
    WITH changed AS (
      UPDATE pools SET (${COLUMNS}) = ROW(${WANTED}), last_update = now()
      WHERE id = :pool AND ROW(${COLUMNS}) <> ROW(${WANTED})
        AND EXISTS (SELECT FROM pool_members m WHERE m.pool_id = :pool AND m.address = :caller AND m.role = 'OWNER')
    )
    SELECT CASE WHEN m.address IS NOT NULL THEN json_build_object('id', p.id,
      ${forEach((field, column) => `'${field}', coalesce(:${field}, p.${column})`)},
      'compounding', ${isCompounding('p.id', ':caller')})::text END AS data
    FROM pools p LEFT JOIN pool_members m ON m.pool_id = p.id AND m.address = :caller AND m.role = 'OWNER'
    WHERE p.id = :pool`,
  { chargedTo: 'caller' },
);

/**
 * Triggers of pool_members update the derived rows. `role` is the caller's role before this statement, null for
 * outsiders. `data` is null when the caller was not a member, or another request has just ended the membership.
 */
export const LEAVE_POOL = statement<
  { pool: string; caller: string },
  ReadableRow & { role: 'OWNER' | 'MEMBER' | null }
>(
  'leave_pool',
  { pool: 'uuid', caller: 'text' },
  `
    WITH gone AS (
      DELETE FROM pool_members WHERE pool_id = :pool AND address = :caller AND role = 'MEMBER' RETURNING pool_id
    )
    SELECT (SELECT role FROM pool_members WHERE pool_id = p.id AND address = :caller) AS role,
      (SELECT json_build_object('poolId', pool_id)::text FROM gone) AS data
    FROM pools p WHERE p.id = :pool`,
);

/** Of requests with an Idempotency-Key: nobody can ask for these answers any more. */
export const REMOVE_EXPIRED_ANSWERS = removeExpired(
  'idempotency_keys',
  'created_at',
  `now() - interval '24 hours'`,
);
