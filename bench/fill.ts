import type { Client } from 'pg';
import { POOL_TYPES } from '#values/types';
import { Progress } from './output';

/** How much data: every user owns 10 pools and is a member of 2 more, every pool has as many transactions. */
export interface Size {
  pools: number;
  transactions: number;
  /** Adds users with 1,000 and 10,000 pools and 100,000 transactions, and a member of the 1,000 first pools. */
  heavy?: boolean;
}

/** A set of users with the pools and transactions that belong to them. */
interface Part {
  /** Distinguishes ids and addresses of one part from those of another. */
  seed: string;
  users: number;
  pools: number;
  transactions: number;
}

export const HEAVY = 'heavy';
const VAST = 'vast';
const POOLS_PER_USER = 10;
/** Days over which the transactions are spread, whatever their number. */
const DAYS = 400;
const CHUNK = 100_000;

const SESSION = `
  SET session_replication_role = replica; -- no triggers, no foreign key checks
  SET synchronous_commit = off;
  SET work_mem = '256MB';
  SET maintenance_work_mem = '1GB';
  SET jit = off;`;

/** Ids as the service makes them: version 7, ordered by time. Random parts are hashes, so that every fill is alike. */
const functions = (start: number): string => `
  CREATE FUNCTION pg_temp.uuid7(ms bigint, seed text) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(seed), 1, 3) || '8' || substr(md5(seed), 4, 15))::uuid $$;
  CREATE FUNCTION pg_temp.at(ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT to_timestamp(ms / 1000.0) $$;
  CREATE FUNCTION pg_temp.user_id(seed text, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT pg_temp.uuid7(${start} - 86400000, seed || 'u' || n) $$;
  CREATE FUNCTION pg_temp.address(seed text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT '0x' || md5(seed || 'a' || n) || substr(md5(seed || 'b' || n), 1, 8) $$;`;

/** Transaction n is of pool n % pools, so a pool's transactions lie far apart; the first is its opening deposit. */
const transactions = ({ seed, users, pools, transactions: count }: Part, start: number): string => `
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount, tx_hash, block_number,
    log_index, gas_used, gas_price, created_at, confirmed_at)
  SELECT pg_temp.uuid7(ms, '${seed}t' || n), pg_temp.uuid7(${start} + i * step, '${seed}p' || i),
    pg_temp.user_id('${seed}', i % ${users}), true, type, status,
    pg_temp.address('${seed}', i % ${users}),
    CASE type WHEN 'DEPOSIT' THEN 100000000000000000000 WHEN 'WITHDRAWAL' THEN 5000000000000000000
      ELSE 100000000000000000 END + n,
    CASE type WHEN 'DEPOSIT' THEN 100000000000000000000 + n END,
    CASE status WHEN 'CONFIRMED' THEN '0x' || md5('${seed}h' || n) || md5('${seed}i' || n) END,
    CASE status WHEN 'CONFIRMED' THEN 1000000 + n END, CASE status WHEN 'CONFIRMED' THEN 0 END,
    CASE status WHEN 'CONFIRMED' THEN 21000 + n % 90000 END, CASE status WHEN 'CONFIRMED' THEN 1500000000 END,
    pg_temp.at(ms), CASE status WHEN 'CONFIRMED' THEN pg_temp.at(ms + 12000) END
  FROM generate_series($1::bigint, $2::bigint) n
  CROSS JOIN LATERAL (
    SELECT ${Math.floor((DAYS * 86_400_000) / count)}::bigint AS step, n % ${pools} AS i, n / ${pools} AS turn) a
  CROSS JOIN LATERAL (SELECT ${start} + n * step AS ms, CASE WHEN turn = 0 THEN 'DEPOSIT'
    ELSE (ARRAY['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'])[1 + (turn + i) % 3] END AS type) b
  CROSS JOIN LATERAL (SELECT CASE WHEN type = 'DEPOSIT' AND n % 50 = 0 THEN 'PENDING'
    WHEN type = 'DEPOSIT' AND turn > 0 AND n % 97 = 0 THEN 'EXPIRED' ELSE 'CONFIRMED' END AS status) c`;

const users = ({ seed, users: count }: Part, start: number): string => `
  INSERT INTO users (id, address, created_at)
  SELECT pg_temp.user_id('${seed}', n), pg_temp.address('${seed}', n), pg_temp.at(${start} - 86400000)
  FROM generate_series(0, ${count - 1}) n`;

/** Pools with the balance, counts and yield that their transactions and their one accrual make. */
const pools = ({ seed, users: owners, pools: count, transactions: moves }: Part, start: number): string => `
  INSERT INTO pools (id, type, owner_id, contract_address, balance, pending_balance, total_yield, claimed_yield, apr_bps, auto_compound,
    member_count, deposit_count, withdrawal_count, claim_count, last_deposit_id, last_withdrawal_id, last_claim_id,
    created_at, last_update, last_claimed_at)
  SELECT p.id, (ARRAY[${POOL_TYPES.map((type) => `'${type}'`).join(', ')}])[1 + i / ${owners} % ${POOL_TYPES.length}],
    pg_temp.user_id('${seed}', i % ${owners}), '0x' || repeat('c', 40), t.balance, t.pending, 100000000000000000000, t.claimed,
    300 + i % 500, i % 2 = 0, CASE WHEN ${owners} > 1 AND i / ${owners} < 2 THEN 1 ELSE 0 END,
    t.deposits, t.withdrawals, t.claims, t.last_deposit, t.last_withdrawal, t.last_claim, p.created_at, t.last_update, t.last_claimed_at
  FROM generate_series(0, ${count - 1}) i
  CROSS JOIN LATERAL (SELECT ${start} + i * ${Math.floor((DAYS * 86_400_000) / moves)}::bigint AS ms OFFSET 0) m
  CROSS JOIN LATERAL (SELECT pg_temp.uuid7(ms, '${seed}p' || i) AS id, pg_temp.at(ms) AS created_at) p
  JOIN (
    SELECT pool_id,
      coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT' AND status <> 'EXPIRED'), 0)
        - coalesce(sum(amount) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS balance,
      coalesce(sum(amount) FILTER (WHERE status = 'PENDING'), 0) AS pending,
      coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claimed,
      ${['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM']
        .map(
          (type, n) =>
            `max(id::text COLLATE "C") FILTER (WHERE type = '${type}')::uuid AS last_${['deposit', 'withdrawal', 'claim'][n]},`,
        )
        .join(' ')}
      count(*) FILTER (WHERE type = 'DEPOSIT') AS deposits, count(*) FILTER (WHERE type = 'WITHDRAWAL') AS withdrawals,
      count(*) FILTER (WHERE type = 'YIELD_CLAIM') AS claims, max(coalesce(confirmed_at, created_at)) AS last_update,
      max(created_at) FILTER (WHERE type = 'YIELD_CLAIM') AS last_claimed_at
    FROM transactions GROUP BY pool_id
  ) t ON t.pool_id = p.id`;

const members = ({ seed, users: owners, pools: count, transactions: moves }: Part, start: number): string => `
  INSERT INTO pool_members (pool_id, address, role, type, indexed)
  SELECT p.id, reader.address, reader.role, p.type, false
  FROM generate_series(0, ${count - 1}) i
  JOIN pools p ON p.id = pg_temp.uuid7(${start} + i * ${Math.floor((DAYS * 86_400_000) / moves)}::bigint, '${seed}p' || i)
  CROSS JOIN LATERAL (
    SELECT pg_temp.address('${seed}', i % ${owners}) AS address, 'OWNER' AS role
    UNION ALL SELECT pg_temp.address('${seed}', (i + 1) % ${owners}), 'MEMBER' WHERE p.member_count > 0) reader`;

/** A user without pools who is a member of the 1,000 first ones. */
const MEMBER_OF_MANY = `
  INSERT INTO users (id, address, created_at)
    VALUES (pg_temp.user_id('member', 0), pg_temp.address('member', 0), now() - interval '500 days');
  WITH first AS (SELECT id, type FROM pools ORDER BY id LIMIT 1000), counted AS (
    UPDATE pools SET member_count = member_count + 1 WHERE id IN (SELECT id FROM first))
  INSERT INTO pool_members
  SELECT id, pg_temp.address('member', 0), 'MEMBER', type, row_number() OVER (ORDER BY id) > few_memberships() FROM first`;

/** The last of them is open. Much data has many, so that the last pages of winners are deep. */
const draws = (heavy: boolean): number => (heavy ? 100_001 : 201);

/** What the triggers and the indexer would have kept. */
const derived = (heavy: boolean): Record<string, string> => ({
  'yield accruals': `
    INSERT INTO yield_accruals (block_number, log_index, pool_id, amount, apr_bps, accrued_at)
    SELECT 1000000, 0, id, total_yield, apr_bps, created_at FROM pools`,
  'account days': `
    INSERT INTO account_days (address, day, contract, writer, deposited, pending, claimed, deposits, withdrawals, claims)
    SELECT account, (t.created_at AT TIME ZONE 'UTC')::date, p.contract_address, 1,
      coalesce(sum(amount) FILTER (WHERE t.type = 'DEPOSIT' AND status <> 'EXPIRED'), 0),
      coalesce(sum(amount) FILTER (WHERE status = 'PENDING'), 0),
      coalesce(sum(amount) FILTER (WHERE t.type = 'YIELD_CLAIM'), 0),
      count(*) FILTER (WHERE t.type = 'DEPOSIT'), count(*) FILTER (WHERE t.type = 'WITHDRAWAL'),
      count(*) FILTER (WHERE t.type = 'YIELD_CLAIM')
    FROM transactions t JOIN pools p ON p.id = t.pool_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  'member streams': `
    INSERT INTO member_streams (pool_id, address, type, status, first_id, last_id)
    SELECT m.pool_id, m.address, t.type, t.status, min(t.id::text)::uuid, max(t.id::text)::uuid
    FROM pool_members m JOIN transactions t USING (pool_id) WHERE m.indexed GROUP BY 1, 2, 3, 4`,
  'member counts': `
    INSERT INTO member_counts (address, type, writer, count)
    SELECT address, c.type, 1, sum(c.count) FROM pool_members m JOIN pools p ON p.id = m.pool_id
    CROSS JOIN LATERAL (VALUES (m.type::text, 1), ('DEPOSIT', p.deposit_count), ('WITHDRAWAL', p.withdrawal_count),
      ('YIELD_CLAIM', p.claim_count)) AS c(type, count)
    WHERE m.indexed GROUP BY 1, 2`,
  'owner totals': `
    INSERT INTO owner_totals (owner_id, type, contract, writer, pools, active, yield, apr_bps)
    SELECT p.owner_id, p.type, p.contract_address, 1, count(*), count(*) FILTER (WHERE p.balance > 0), sum(p.total_yield), sum(p.apr_bps)
    FROM pools p GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  'pool totals': `
    INSERT INTO pool_totals (shard, type, contract, pools, deposited, pending, yield, apr_bps)
    SELECT 1, p.type, p.contract_address, count(*), sum(d.amount), sum(p.pending_balance), sum(p.total_yield), sum(p.apr_bps)
    FROM pools p
    JOIN (SELECT pool_id, sum(amount) FILTER (WHERE type = 'DEPOSIT' AND status <> 'EXPIRED') AS amount
      FROM transactions GROUP BY pool_id) d ON d.pool_id = p.id
    GROUP BY p.type, p.contract_address`,
  'chain cursor': `
    INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
    VALUES (1, '', 20000000, '', now(), 20000000, now())`,
  // As after one accrual, a day after each pool was made, that nobody has settled yet: reading one takes the whole formula.
  'pool weights': `
    INSERT INTO pool_weights (pool_id, total, weight_offset, accruals, last_time, last_per_unit)
    SELECT id, balance - pending_balance, (balance - pending_balance) * made, 1, made + 86400, 0
    FROM pools, LATERAL (SELECT extract(epoch FROM created_at)::bigint AS made) a;
    ANALYZE pool_weights`,
  'accrual rates': `
    INSERT INTO accrual_rates (pool_id, number, time, per_weight, per_unit)
    SELECT pool_id, 1, last_time, div(100000000000000000000 * 2::numeric ^ 128, greatest(total, 1) * 86400), 0
    FROM pool_weights`,
  positions: `
    INSERT INTO positions (pool_id, address, balance, weight_offset, owed, accruals, deposited, withdrawn, claimed)
    SELECT pool_id, account, deposited - withdrawn, (deposited - withdrawn) * (w.last_time - 86400), claimed, 0,
      deposited, withdrawn, claimed
    FROM (
      SELECT pool_id, account,
        coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposited,
        coalesce(sum(amount) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawn,
        coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claimed
      FROM transactions WHERE status = 'CONFIRMED' GROUP BY 1, 2
    ) t JOIN pool_weights w USING (pool_id)`,
  'lottery draws': `
    WITH contract AS (
      INSERT INTO chain_contracts (type, address, position, from_block)
      VALUES ('lottery', '0x' || repeat('3', 40), 0, 0) RETURNING address
    )
    INSERT INTO lottery_draws (contract, draw_id, status, ticket_price, prize_pool, participants, total_tickets, draw_time, winner,
      winner_tickets, prize, drawn_at)
    SELECT address, n, CASE WHEN n = ${draws(heavy)} THEN 'ACTIVE' ELSE 'COMPLETED' END, 1000000000000000000, n * 1e18::numeric, n * 3,
      n * 7, at, CASE WHEN n < ${draws(heavy)} THEN pg_temp.address('', n) END, CASE WHEN n < ${draws(heavy)} THEN 1 + n % 9 END,
      CASE WHEN n < ${draws(heavy)} THEN n * 1e18::numeric END, CASE WHEN n < ${draws(heavy)} THEN at END
    FROM contract, generate_series(1, ${draws(heavy)}) n, LATERAL (SELECT timestamptz '2025-01-01' + n * interval '1 hour' AS at) a`,
  'lottery totals': `UPDATE lottery_totals SET winners = ${draws(heavy) - 1}`,
  // Everybody has some in the first ten draws, a heavy caller in a thousand.
  'lottery tickets': `
    INSERT INTO lottery_tickets (contract, draw_id, account, tickets)
    SELECT '0x' || repeat('3', 40), n, u.address, 3
    FROM users u CROSS JOIN LATERAL generate_series(1, CASE WHEN u.id IN (${[HEAVY, VAST]
      .map((seed) => `pg_temp.user_id('${seed}', 0)`)
      .join(', ')}) THEN 1000 ELSE 10 END) n
    ORDER BY 1, 2, 3`,
});

/** Fills a migrated, empty database. Secondary indexes are built at the end, which is several times faster. */
export async function fill(
  client: Client,
  { pools: poolCount, transactions: count, heavy = false }: Size,
): Promise<void> {
  const start = Date.now() - (DAYS + 1) * 86_400_000;
  const parts: Part[] = [
    { seed: '', users: poolCount / POOLS_PER_USER, pools: poolCount, transactions: count },
    ...(heavy
      ? [
          { seed: HEAVY, users: 1, pools: 1000, transactions: 100_000 },
          { seed: VAST, users: 1, pools: 10_000, transactions: 100_000 },
        ]
      : []),
  ];
  const { rows: indexes } = await client.query<{ name: string; text: string }>(`
    SELECT indexname AS name, indexdef AS text FROM pg_indexes
    WHERE tablename = 'transactions' AND indexname NOT IN (SELECT conname FROM pg_constraint)`);
  const steps = derived(heavy);
  const inserted = parts.reduce((sum, part) => sum + part.transactions, 0);
  // Steps after the transactions take, together, about twice as long.
  const others = parts.length * 3 + Object.keys(steps).length + indexes.length + 1;
  const weight = (2 * inserted) / others;
  const progress = new Progress(`Filling ${poolCount} pools, ${count} transactions`, inserted * 3);
  const run = async (what: string, text: string): Promise<void> => {
    progress.step(what, 0);
    await client.query(text);
    progress.step(what, weight);
  };

  await client.query(SESSION + functions(start));
  await client.query(indexes.map(({ name }) => `DROP INDEX ${name};`).join('\n'));
  for (const part of parts) {
    for (let from = 0; from < part.transactions; from += CHUNK) {
      const to = Math.min(from + CHUNK, part.transactions) - 1;
      await client.query(transactions(part, start), [from, to]);
      progress.step('transactions', to - from + 1);
    }
    await run('users', users(part, start));
    await run('pools', pools(part, start));
    await client.query('ANALYZE pools');
    await run('members', members(part, start));
  }
  if (heavy) await run('member of many', MEMBER_OF_MANY);
  for (const { name, text } of indexes) await run(name, text);
  for (const [what, text] of Object.entries(steps)) await run(what, text);
  await run('vacuum', 'VACUUM (FREEZE, ANALYZE)');
  await client.query('CHECKPOINT');
  progress.end();
}
