import { COMPARE_NAMES, COMPARE_POOLS } from '#verify/contract/names.sql';
import { type Comparison, following, recounted } from './compare';

/** The tables and columns that follow from the ledger and from the events of draws. */

/** SQL: an amount as it counts in sums. Expired deposits count as 0. */
const counted = (t: string): string => `CASE ${t}.status WHEN 'EXPIRED' THEN 0 ELSE ${t}.amount END`;
/** SQL: the part of an amount that is not on the chain yet. */
const pending = (t: string): string =>
  `CASE WHEN ${t}.status = 'PENDING' AND ${t}.type = 'DEPOSIT' THEN ${t}.amount ELSE 0 END`;

const TYPES = ['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'];
const STATUSES = ['PENDING', 'CONFIRMED', 'EXPIRED'];

/** Derived columns of pools. */
const POOL_COLUMNS = [
  'balance',
  'pending_balance',
  'claimed_yield',
  'deposit_count',
  'withdrawal_count',
  'claim_count',
  'last_deposit_id',
  'last_withdrawal_id',
  'last_claim_id',
  'last_claimed_at',
  'total_yield',
  'apr_bps',
  'member_count',
] as const;

const newest = (type: string): string => `
  (SELECT x.id FROM transactions x WHERE x.pool_id = p.id AND x.type = '${type}' ORDER BY x.id DESC LIMIT 1)`;
const sum = (type: string): string => `coalesce(sum(${counted('x')}) FILTER (WHERE x.type = '${type}'), 0)`;
const count = (type: string): string => `count(*) FILTER (WHERE x.type = '${type}')`;

const ACCRUED = `(SELECT coalesce(sum(y.amount), 0) FROM yield_accruals y WHERE y.pool_id = p.id)`;
const APR = `coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = p.id
  ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0)`;

/** One row for each pool. Parameter 1: pool ids. */
const RECOUNT = `
  SELECT p.id, s.deposited - s.withdrawn AS balance, s.pending_balance, s.claimed_yield, s.deposit_count,
    s.withdrawal_count, s.claim_count, s.last_claimed_at, ${ACCRUED} AS total_yield, ${APR} AS apr_bps,
    ${newest('DEPOSIT')} AS last_deposit_id, ${newest('WITHDRAWAL')} AS last_withdrawal_id,
    ${newest('YIELD_CLAIM')} AS last_claim_id,
    (SELECT count(*) FROM pool_members m WHERE m.pool_id = p.id AND m.role = 'MEMBER') AS member_count
  FROM pools p CROSS JOIN LATERAL (
    SELECT ${sum('DEPOSIT')} AS deposited, ${sum('WITHDRAWAL')} AS withdrawn, ${sum('YIELD_CLAIM')} AS claimed_yield,
      coalesce(sum(${pending('x')}), 0) AS pending_balance, ${count('DEPOSIT')} AS deposit_count,
      ${count('WITHDRAWAL')} AS withdrawal_count, ${count('YIELD_CLAIM')} AS claim_count,
      max(x.created_at) FILTER (WHERE x.type = 'YIELD_CLAIM') AS last_claimed_at
    FROM transactions x WHERE x.pool_id = p.id) s
  WHERE p.id = ANY($1::uuid[])`;

export const POOLS = following({
  table: 'pools',
  key: ['id'],
  values: Object.fromEntries(POOL_COLUMNS.map((column) => [column, `r.${column}`])),
  // Each row is counted once, although its values are compared and then shown.
  from: `(${RECOUNT} OFFSET 0) r`,
  where: 't.id = r.id',
  set: 'last_update = changed_at(t.last_update)',
  lock: 'pools',
  by: 1,
});
/** Adds the pools without a balance to their owners' active pools, or subtracts them. Parameter: pool ids. */
export const countEmpty = (sign: '+' | '-'): string => `
  INSERT INTO owner_totals AS t (owner_id, type, contract, writer, active)
  SELECT owner_id, type, contract_address, writer(), ${sign} count(*) FROM pools
  WHERE id = ANY($1::uuid[]) AND balance = 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET active = t.active + excluded.active`;
const ITS_POOL = {
  from: 'pools p JOIN users u ON u.id = p.owner_id',
  where: 'p.id = t.pool_id AND p.id = ANY($1::uuid[])',
};
export const OWNERS = following({
  table: 'transactions',
  key: ['id'],
  values: { owner_id: 'p.owner_id', by_owner: '(t.account = u.address)' },
  ...ITS_POOL,
});
/** Only a confirmed row has the time of its event. Parameter: pool ids. */
const UNCONFIRMED = following({
  table: 'transactions',
  key: ['id'],
  values: { confirmed_at: 'NULL::timestamptz' },
  where: `t.pool_id = ANY($1::uuid[]) AND t.status <> 'CONFIRMED'`,
});
const MEMBERS = { table: 'pool_members', key: ['pool_id', 'address'], ...ITS_POOL };
const MEMBER_TYPES = following({ ...MEMBERS, values: { type: 'p.type' } });
/** A person has to decide, as the owner of the pool may be what is wrong. */
const MEMBER_ROLES: Comparison = {
  ...following({
    ...MEMBERS,
    values: { role: `CASE WHEN t.address = u.address THEN 'OWNER' ELSE 'MEMBER' END` },
  }),
  repair: undefined,
};

/** SQL: the first and the newest transaction of each type and status of pool `p`; null if there is none. */
const ENDS = TYPES.flatMap((type) =>
  STATUSES.map((status) => {
    const end = (order: string): string => `
      (SELECT x.id FROM transactions x WHERE x.pool_id = p.id AND x.type = '${type}' AND x.status = '${status}'
       ${status === 'CONFIRMED' ? '' : `AND x.status IN ('PENDING', 'EXPIRED')`} ORDER BY x.id ${order} LIMIT 1)`;
    return `('${type}', '${status}', ${end('ASC')}, ${end('DESC')})`;
  }),
).join();
/** They change only under the lock of their pool. */
const STREAMS = recounted({
  table: 'member_streams',
  key: ['pool_id', 'address', 'type', 'status'],
  columns: ['first_id', 'last_id'],
  recount: `
    WITH members AS MATERIALIZED (
      SELECT pool_id, address FROM pool_members WHERE pool_id = ANY($1::uuid[]) AND indexed AND role = 'MEMBER')
    SELECT w.pool_id, w.address, k.* FROM (SELECT DISTINCT pool_id AS id FROM members) p
    CROSS JOIN LATERAL (VALUES ${ENDS}) AS k(type, status, first_id, last_id) JOIN members w ON w.pool_id = p.id
    WHERE k.last_id IS NOT NULL`,
  of: 't.pool_id = ANY($1::uuid[])',
  lock: 'pools',
  by: 1,
});
/** Parameter: pool ids. */
export const OF_POOLS = [MEMBER_TYPES, MEMBER_ROLES, OWNERS, UNCONFIRMED, POOLS, STREAMS];

/** Every total at once, from the complete ledger. */
export const TOTALS = recounted({
  table: 'pool_totals',
  key: ['type', 'contract'],
  columns: ['pools', 'deposited', 'pending', 'yield', 'apr_bps'],
  recount: `
    SELECT p.type::text, p.contract_address::text AS contract, count(*) AS pools, sum(s.deposited) AS deposited,
      sum(s.pending) AS pending, sum(y.total) AS yield, sum(${APR}) AS apr_bps
    FROM pools p
    LEFT JOIN (SELECT pool_id, sum(${counted('x')}) AS deposited, sum(${pending('x')}) AS pending
      FROM transactions x WHERE type = 'DEPOSIT' GROUP BY 1) s ON s.pool_id = p.id
    LEFT JOIN (SELECT pool_id, sum(amount) AS total FROM yield_accruals GROUP BY 1) y ON y.pool_id = p.id
    GROUP BY 1, 2`,
  of: 'true',
  writer: ['shard', 'pool_totals_shard'],
});

const paid = (type: string): string => `coalesce(sum(amount) FILTER (WHERE type = '${type}'), 0)`;
const listed = (type: string): string => `coalesce(sum(listed) FILTER (WHERE type = '${type}'), 0)`;
const writer = ['writer', 'writer'] as const;

/**
 * Days of addresses at contracts: the amounts that they paid, and the number of transactions that they list. These are all of their
 * own pools, and their own payments into pools where they are not a member.
 */
const DAYS = recounted({
  table: 'account_days',
  key: ['address', 'day', 'contract'],
  columns: ['deposited', 'pending', 'claimed', 'deposits', 'withdrawals', 'claims'],
  recount: `
    SELECT address, (created_at AT TIME ZONE 'UTC')::date AS day, contract, ${paid('DEPOSIT')} AS deposited,
      sum(pending) AS pending, ${paid('YIELD_CLAIM')} AS claimed, ${listed('DEPOSIT')} AS deposits,
      ${listed('WITHDRAWAL')} AS withdrawals, ${listed('YIELD_CLAIM')} AS claims
    FROM (
      SELECT w.address, p.contract_address::text AS contract, t.created_at, t.type, ${counted('t')} AS amount, ${pending('t')} AS pending,
        (NOT EXISTS (SELECT FROM pool_members m WHERE m.pool_id = t.pool_id AND m.address = t.account))::int AS listed
      FROM unnest($1::text[]) AS w(address) JOIN transactions t ON t.account = w.address AND NOT t.by_owner
      JOIN pools p ON p.id = t.pool_id
      UNION ALL
      SELECT w.address, p.contract_address::text AS contract, t.created_at, t.type, CASE WHEN t.by_owner THEN ${counted('t')} ELSE 0 END,
        CASE WHEN t.by_owner THEN ${pending('t')} ELSE 0 END, 1
      FROM unnest($1::text[]) AS w(address) JOIN users u ON u.address = w.address JOIN transactions t ON t.owner_id = u.id
      JOIN pools p ON p.id = t.pool_id
    ) parts GROUP BY 1, 2, 3`,
  of: 'address = ANY($1::text[])',
  writer,
});
/**
 * What addresses own of each type at each contract. Pools with a balance are active, as for the trigger: POOLS compares the
 * balances before.
 */
const OWNED = recounted({
  table: 'owner_totals',
  key: ['owner_id', 'type', 'contract'],
  columns: ['pools', 'active', 'yield', 'apr_bps'],
  recount: `
    SELECT u.id AS owner_id, p.type, p.contract_address::text AS contract, count(*) AS pools,
      count(*) FILTER (WHERE p.balance > 0) AS active, sum(${ACCRUED}) AS yield, sum(${APR}) AS apr_bps
    FROM users u JOIN pools p ON p.owner_id = u.id
    WHERE u.address = ANY($1::text[]) GROUP BY 1, 2, 3`,
  of: 'owner_id IN (SELECT u.id FROM users u WHERE u.address = ANY($1::text[]))',
  writer,
});
/** What memberships add: a pool of its type, and the pool's transactions by type. */
const MEMBERSHIPS = recounted({
  table: 'member_counts',
  key: ['address', 'type'],
  columns: ['count'],
  recount: `
    SELECT m.address::text AS address, part.type, sum(part.count) AS count
    FROM pool_members m CROSS JOIN LATERAL (VALUES (m.type::text, 1::bigint), ${TYPES.map(
      (type) =>
        `('${type}', (SELECT count(*) FROM transactions x WHERE x.pool_id = m.pool_id AND x.type = '${type}'))`,
    ).join(', ')}) AS part(type, count)
    WHERE m.indexed AND m.role = 'MEMBER' AND m.address = ANY($1::text[]) GROUP BY 1, 2`,
  of: 'address = ANY($1::text[])',
  writer,
});
/** Parameter: addresses. */
export const OF_ADDRESSES = [DAYS, OWNED, MEMBERSHIPS];

const WANTED = 'unnest($1::text[], $2::bigint[]) AS w(contract, draw_id)';
/** SQL: the applied events of draws. */
const EVENTS = `
  SELECT w.contract, w.draw_id, e.kind, e.account, e.amount, e.draw_time, e.block_time, e.block_number, e.log_index
  FROM ${WANTED} JOIN chain_events e ON e.contract = w.contract AND e.draw_id = w.draw_id::numeric
  WHERE e.outcome = 'APPLIED'`;
/** SQL: what accounts have of draws. */
const HELD = `
  SELECT contract, draw_id, account, coalesce(sum(amount) FILTER (WHERE kind = 'TicketsIssued'), 0) AS tickets,
    coalesce(sum(amount) FILTER (WHERE kind = 'PrizeFunded'), 0) AS paid_in,
    coalesce(sum(amount) FILTER (WHERE kind = 'Refunded'), 0) AS refunded
  FROM (${EVENTS}) e WHERE kind IN ('TicketsIssued', 'PrizeFunded', 'Refunded') GROUP BY 1, 2, 3`;
const OF_DRAWS = {
  of: `(t.contract, t.draw_id) IN (SELECT * FROM ${WANTED})`,
  lock: 'cursor',
  by: 2,
} as const;
/** Parameters: contracts and ids of draws. */
export const DRAWS = [
  recounted({
    table: 'lottery_draws',
    key: ['contract', 'draw_id'],
    columns: [
      'status',
      'ticket_price',
      'prize_pool',
      'participants',
      'total_tickets',
      'draw_time',
      'winner',
      'winner_tickets',
      'prize',
      'drawn_at',
      'pick_block',
      'paid',
    ],
    recount: `
      WITH events AS MATERIALIZED (${EVENTS}), held AS MATERIALIZED (${HELD}), sums AS (
        SELECT contract, draw_id, coalesce(sum(amount) FILTER (WHERE kind = 'PrizeFunded'), 0) AS prize_pool,
          bool_or(kind = 'DrawCancelled') AS cancelled, bool_or(kind = 'DrawClosed') AS closed,
          bool_or(kind = 'PrizePaid') AS paid, max(block_number) FILTER (WHERE kind = 'DrawClosed') + 1 AS pick_block
        FROM events GROUP BY 1, 2
      ), sold AS (
        SELECT contract, draw_id, count(*) FILTER (WHERE tickets > 0) AS participants, sum(tickets) AS tickets FROM held GROUP BY 1, 2
      ), opened AS (
        SELECT DISTINCT ON (contract, draw_id) * FROM events WHERE kind = 'DrawOpened'
        ORDER BY contract, draw_id, block_number, log_index
      ), completed AS (
        SELECT DISTINCT ON (contract, draw_id) * FROM events WHERE kind = 'DrawCompleted'
        ORDER BY contract, draw_id, block_number DESC, log_index DESC
      )
      SELECT o.contract, o.draw_id,
        CASE WHEN c.account IS NOT NULL THEN 'COMPLETED' WHEN s.cancelled THEN 'CANCELLED'
          WHEN s.closed THEN 'DRAWING' ELSE 'ACTIVE' END AS status,
        o.amount AS ticket_price, s.prize_pool, coalesce(n.participants, 0) AS participants,
        coalesce(n.tickets, 0) AS total_tickets, o.draw_time, c.account AS winner,
        CASE WHEN c.account IS NOT NULL THEN coalesce(h.tickets, 0) END AS winner_tickets, c.amount AS prize,
        c.block_time AS drawn_at, s.pick_block, s.paid
      FROM opened o JOIN sums s USING (contract, draw_id) LEFT JOIN sold n USING (contract, draw_id)
      LEFT JOIN completed c USING (contract, draw_id)
      LEFT JOIN held h ON h.contract = o.contract AND h.draw_id = o.draw_id AND h.account = c.account`,
    ...OF_DRAWS,
  }),
  recounted({
    table: 'lottery_tickets',
    key: ['contract', 'draw_id', 'account'],
    columns: ['tickets', 'paid_in', 'refunded'],
    recount: HELD,
    ...OF_DRAWS,
  }),
];

export const WINNERS = recounted({
  table: 'lottery_totals',
  key: ['id'],
  columns: ['winners'],
  recount: `SELECT 1 AS id, count(*) AS winners FROM lottery_draws WHERE status = 'COMPLETED'`,
  of: 'true',
  lock: 'cursor',
});
export const SET_ASIDE = recounted({
  table: 'set_aside_counts',
  key: ['outcome'],
  columns: ['count'],
  recount: `SELECT outcome, count(*) AS count FROM chain_events WHERE outcome NOT IN ('WAITING', 'APPLIED') GROUP BY outcome`,
  of: 't.count <> 0',
  lock: 'cursor',
});
/** What all have of each vault. */
export const SHARE_TOTALS = recounted({
  table: 'share_totals',
  key: ['vault'],
  columns: ['shares', 'cost'],
  recount:
    'SELECT vault, sum(shares) AS shares, sum(cost) AS cost FROM share_holdings WHERE shares > 0 GROUP BY 1',
  of: '(t.shares, t.cost) <> (0, 0)',
  lock: 'cursor',
});

const after = `(contract, draw_id) > ($1::text, $2::bigint) ORDER BY contract, draw_id LIMIT $3`;
/** Draws that exist, or should, in order. Parameters: contract and id to go on after, limit. Row: both as a key. */
export const NEXT_DRAWS = `
  SELECT contract || ' ' || draw_id AS key FROM (
    (SELECT contract, draw_id FROM lottery_draws WHERE ${after})
    UNION (SELECT DISTINCT contract, draw_id FROM lottery_tickets WHERE ${after})
    UNION (SELECT DISTINCT contract, draw_id::bigint FROM chain_events
      WHERE kind IN ('DrawOpened', 'DrawClosed', 'DrawCancelled', 'DrawCompleted', 'PrizePaid') AND outcome = 'APPLIED'
        AND (contract, draw_id) > ($1::text, $2::bigint::numeric) ORDER BY contract, draw_id LIMIT $3)
  ) found ORDER BY contract, draw_id LIMIT $3`;

/** SQL: distinct values after parameter 1 in index order. Each takes one index lookup, however many rows have it. */
const distinct = (name: string, column: string, table: string, condition = 'true'): string => `
  ${name} AS (
    (SELECT ${column} AS key FROM ${table} WHERE ${condition} AND ${column} > $1 ORDER BY ${column} LIMIT 1)
    UNION ALL
    SELECT (SELECT ${column} FROM ${table} WHERE ${condition} AND ${column} > n.key ORDER BY ${column} LIMIT 1)
    FROM ${name} n WHERE n.key IS NOT NULL
  )`;
/** Sorts before all ids. */
export const FIRST_POOL = '00000000-0000-0000-0000-000000000000';
/** Pools, and those that do not exist and that something is kept of. Parameters: the id to go on after, limit. */
export const NEXT_NAMED_POOLS = `
  WITH RECURSIVE ${distinct('held', 'pool_id', 'positions')}, ${distinct('rated', 'pool_id', 'accrual_rates')},
  ${distinct('streamed', 'pool_id', 'member_streams')}
  SELECT id FROM (
    (SELECT id FROM pools WHERE id > $1::uuid ORDER BY id LIMIT $2)
    UNION (SELECT pool_id FROM pool_weights WHERE pool_id > $1::uuid ORDER BY pool_id LIMIT $2)
    UNION (SELECT pool_id FROM circles WHERE pool_id > $1::uuid ORDER BY pool_id LIMIT $2)
    UNION (SELECT key FROM held LIMIT $2)
    UNION (SELECT key FROM rated LIMIT $2)
    UNION (SELECT key FROM streamed LIMIT $2)
  ) found WHERE id IS NOT NULL ORDER BY id LIMIT $2`;
/** Addresses that have days or counts of memberships, or should have, in order. Parameters: the address to go on after, limit. */
export const NEXT_ADDRESSES = `
  WITH RECURSIVE ${distinct('days', 'address', 'account_days')},
  ${distinct('payers', 'account', 'transactions', 'NOT by_owner')},
  ${distinct('members', 'address', 'pool_members', `indexed AND role = 'MEMBER'`)},
  ${distinct('counted', 'address', 'member_counts')}
  SELECT key AS address FROM (
    (SELECT address AS key FROM users WHERE address > $1 ORDER BY address LIMIT $2)
    UNION (SELECT key FROM days LIMIT $2)
    UNION (SELECT key FROM payers LIMIT $2)
    UNION (SELECT key FROM members LIMIT $2)
    UNION (SELECT key FROM counted LIMIT $2)
  ) found WHERE key IS NOT NULL ORDER BY key LIMIT $2`;

/** The names that contracts give to pools, and the contracts that are a single pool. */
export const NAMES: Comparison[] = [{ differences: COMPARE_POOLS }, { differences: COMPARE_NAMES }];

/** Pools that are cancelled and exist, or whose money came but did not restore them: for a person. */
export const CANCELLED: Comparison = {
  differences: `
    SELECT 'cancelled_pools.state' AS kind, c.id, 'cancelled' AS found, 'not cancelled' AS wanted
    FROM cancelled_pools c JOIN pools p ON p.id = c.id
    UNION ALL
    SELECT 'cancelled_pools.state', c.id, 'cancelled', 'paid' FROM cancelled_pools c WHERE EXISTS (
      SELECT FROM chain_events e WHERE e.pool_id = c.id AND e.outcome = 'UNKNOWN_POOL' AND e.contract = c.contract_address
        AND e.amount > 0 AND e.kind IN ('Deposited', 'Withdrawn', 'YieldClaimed', 'YieldAccrued', 'Joined', 'Contributed',
          'PaidOut', 'CircleRefunded'))
    ORDER BY 2 LIMIT 10000`,
};
