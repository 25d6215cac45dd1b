import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Keeps everything that is derived from the ledger. The ledger is `transactions` and `yield_accruals`. Derived are
 * pools' balances, yield, rate, counts and newest transactions; account_days; pool_totals; owner_totals; pools'
 * member_count; member_streams and member_counts.
 *
 * Statement-level triggers do it, so no writer can change the ledger without the totals. A statement touches each pool
 * and each day of an account once, however many rows it changes. The cost of a transaction does not depend on the
 * number of the pool's members, except of those whose membership is indexed: members of very many pools.
 *
 * Others decide how many memberships a person has. So the first few of an address are looked up in `pools` by whoever
 * lists them, and all later ones are indexed: member_streams has the pool's first and newest transactions for each of
 * them, and member_counts adds them up. It is decided when a membership begins, and never changes. Readers take both kinds
 * together, so no list depends on where the limit is, or on who crosses it at the same time.
 *
 * Locks are always taken in this order: pools by id, pool_totals, owner_totals by key, account_days by key, member_counts
 * by key. Rows of member_streams and the counts of a pool's memberships change only under the pool's lock. The indexer
 * and all other writers use different rows of these sums, so POST /pools never waits for a batch of events.
 */
export class Totals1767236400000 implements MigrationInterface {
  name = 'Totals1767236400000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const text of [WRITERS, CREATING, MANY, TRANSACTIONS, ACCRUALS, POOLS, MEMBERS, REFUSALS])
      await queryRunner.query(text);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP FUNCTION refuse_write, pool_members_inserting, pool_members_inserted, pool_members_deleting,
        pool_members_deleted, move_outside, refresh_streams, count_membership, few_memberships,
        pools_inserted, pools_deleted, yield_accruals_inserted, yield_accruals_deleted,
        transactions_inserting, transactions_inserted, transactions_updated, transactions_deleted,
        changed_at, writer, pool_totals_shard, creating CASCADE;
    `);
  }
}

const WRITERS = `
  -- The indexer's transactions are long, so it has its own rows in account_days (0) and in pool_totals (shard 0).
  CREATE FUNCTION writer() RETURNS smallint LANGUAGE sql STABLE AS $$
    SELECT (CASE current_setting('application_name') WHEN 'indexer' THEN 0 ELSE 1 END)::smallint
  $$;

  -- A backend writes to one shard only, in one transaction at a time, so backends rarely share a shard.
  CREATE FUNCTION pool_totals_shard() RETURNS smallint LANGUAGE sql STABLE AS $$
    SELECT (CASE current_setting('application_name') WHEN 'indexer' THEN 0
      ELSE 1 + pg_backend_pid() % 31 END)::smallint
  $$;

  -- The next last_update: the time of the change, but always later than the previous value.
  CREATE FUNCTION changed_at(last_update timestamptz) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT greatest(date_trunc('milliseconds', clock_timestamp()), last_update + interval '1 millisecond')
  $$;
`;

/** The amount that counts, and the part of it that is not on the chain. Expired deposits count in no sum. */
const counted = (row: string): string => `CASE ${row}.status WHEN 'EXPIRED' THEN 0 ELSE ${row}.amount END`;
const pending = (row: string): string =>
  `CASE WHEN ${row}.status = 'PENDING' AND ${row}.type = 'DEPOSIT' THEN ${row}.amount ELSE 0 END`;

interface Change {
  /** SELECT of the changed rows: the columns of transactions that are used below, amount, pending, count. */
  rows: string;
  /** Assignments to the pool's columns other than its sums. */
  newest: string;
  /** Whether the number of rows changes. */
  counts: boolean;
}

const KEPT_COLUMNS = `r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at`;
const NEWEST: [type: string, column: string, count: string][] = [
  ['DEPOSIT', 'last_deposit_id', 'deposits'],
  ['WITHDRAWAL', 'last_withdrawal_id', 'withdrawals'],
  ['YIELD_CLAIM', 'last_claim_id', 'claims'],
];

const INSERTED: Change = {
  rows: `SELECT ${KEPT_COLUMNS}, ${counted('r')} AS amount, ${pending('r')} AS pending, 1 AS count FROM added r`,
  newest: `
    ${NEWEST.map(([, column]) => `${column} = greatest(p.${column}, c.${column}::uuid),`).join('\n    ')}
    last_claimed_at = greatest(p.last_claimed_at, c.claimed_at),`,
  counts: true,
};

const UPDATED: Change = {
  rows: `
    SELECT ${KEPT_COLUMNS}, ${counted('r')} - ${counted('o')} AS amount, ${pending('r')} - ${pending('o')} AS pending,
      0 AS count
    FROM added r JOIN removed o ON o.id = r.id WHERE r.amount <> o.amount OR r.status <> o.status`,
  newest: '',
  counts: false,
};

/** Looks up the newest transaction that is left. The pool is locked by then, so other writers' changes are visible. */
const DELETED: Change = {
  rows: `SELECT ${KEPT_COLUMNS}, -(${counted('r')}) AS amount, -(${pending('r')}) AS pending, -1 AS count FROM removed r`,
  newest: `
    ${NEWEST.map(
      ([type, column, count]) => `${column} = CASE WHEN c.${count} = 0 THEN p.${column} ELSE (
        SELECT x.id FROM transactions x WHERE x.pool_id = p.id AND x.type = '${type}' ORDER BY x.id DESC LIMIT 1) END,`,
    ).join('\n    ')}
    last_claimed_at = CASE WHEN c.claims = 0 THEN p.last_claimed_at ELSE (
      SELECT max(x.created_at) FROM transactions x WHERE x.pool_id = p.id AND x.type = 'YIELD_CLAIM') END,`,
  counts: true,
};

/**
 * Adds to the sums of owners.
 * @param rows SELECT of owner_id, type and the columns
 */
const addToOwners = (rows: string, ...columns: string[]): string => `
    INSERT INTO owner_totals AS t (owner_id, type, writer, ${columns.join(', ')})
    SELECT owner_id, type, writer(), ${columns.map((column) => `sum(${column})`).join(', ')}
    FROM (${rows}) c GROUP BY owner_id, type ORDER BY owner_id, type
    ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
      ${columns.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')}`;

/**
 * Updates the sums and counts of the pools, of their owners, and the global ones. `missing`: how many of the pools do
 * not exist. `crowded`: those that have indexed members. The pools are locked by then, so no membership begins or ends
 * meanwhile. Of parts that nothing reads PostgreSQL runs the last one first.
 */
const changePools = ({ rows, newest }: Change): string => `
  WITH changed AS MATERIALIZED (
    SELECT pool_id, owner_id,
      coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposited,
      coalesce(sum(amount) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawn,
      coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claimed,
      sum(pending) AS pending,
      coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposits,
      coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawals,
      coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claims,
      ${NEWEST.map(([type, column]) => `max(id::text COLLATE "C") FILTER (WHERE type = '${type}') AS ${column},`).join('\n      ')}
      max(created_at) FILTER (WHERE type = 'YIELD_CLAIM') AS claimed_at
    FROM (${rows}) r GROUP BY pool_id, owner_id
  ), updated AS (
    UPDATE pools p SET
      balance = p.balance + c.deposited - c.withdrawn,
      pending_balance = p.pending_balance + c.pending,
      claimed_yield = p.claimed_yield + c.claimed,
      deposit_count = p.deposit_count + c.deposits,
      withdrawal_count = p.withdrawal_count + c.withdrawals,
      claim_count = p.claim_count + c.claims,${newest}
      last_update = changed_at(p.last_update)
    FROM changed c WHERE p.id = c.pool_id AND p.owner_id = c.owner_id
    RETURNING p.id, p.type, c.deposited, c.pending, p.owner_id,
      (p.balance > 0)::int - (p.balance - c.deposited + c.withdrawn > 0)::int AS active
  ), owners AS (${addToOwners('SELECT owner_id, type, active FROM updated WHERE active <> 0', 'active')}
  ), totals AS (
    UPDATE pool_totals t SET deposited = t.deposited + u.deposited, pending = t.pending + u.pending
    FROM (SELECT type, sum(deposited) AS deposited, sum(pending) AS pending FROM updated GROUP BY type) u
    WHERE t.shard = pool_totals_shard() AND t.type = u.type AND (u.deposited <> 0 OR u.pending <> 0)
  )
  SELECT (SELECT count(*) FROM changed) - (SELECT count(*) FROM updated), ARRAY(
    SELECT u.id FROM updated u CROSS JOIN LATERAL (
      SELECT FROM pool_members m WHERE m.pool_id = u.id AND m.indexed LIMIT 1) m)
  INTO missing, crowded;`;

/**
 * Updates the days: the payer's sums, and the number of rows that an address may list in its own right. Such addresses
 * are the owner, always, and a payer who is neither owner nor member. A member's number comes from the pool's own
 * counts.
 */
const changeDays = ({ rows, counts }: Change): string => `
  INSERT INTO account_days AS a
    (address, day, writer, deposited, pending, claimed, deposits, withdrawals, claims)
  SELECT address, (created_at AT TIME ZONE 'UTC')::date AS day, writer(),
    coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0), sum(pending),
    coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0)
  FROM (
    SELECT r.account AS address, r.created_at, r.type, r.amount, r.pending, ${
      counts
        ? `CASE WHEN r.by_owner OR NOT EXISTS (
        SELECT FROM pool_members m WHERE m.pool_id = r.pool_id AND m.address = r.account) THEN r.count ELSE 0 END AS count`
        : '0 AS count'
    }
    FROM (${rows}) r${
      counts
        ? `
    UNION ALL
    SELECT u.address, r.created_at, r.type, 0, 0, r.count
    FROM (${rows}) r JOIN users u ON u.id = r.owner_id WHERE NOT r.by_owner`
        : ''
    }
  ) changes
  GROUP BY address, day ORDER BY address, day
  ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
    deposited = a.deposited + excluded.deposited,
    pending = a.pending + excluded.pending,
    claimed = a.claimed + excluded.claimed,
    deposits = a.deposits + excluded.deposits,
    withdrawals = a.withdrawals + excluded.withdrawals,
    claims = a.claims + excluded.claims;`;

/** Adds to the counts of addresses. `changes` is a SELECT of address, type and count. */
const addCounts = (changes: string): string => `
  INSERT INTO member_counts AS c (address, type, writer, count)
  SELECT address, type, writer(), sum(count) FROM (${changes}) changes
  GROUP BY address, type HAVING sum(count) <> 0 ORDER BY address, type
  ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count;`;

/**
 * Tells the indexed members of the pools `crowded`, which few pools have. It costs a row or two for each of them, 100 at
 * most, so whoever makes a crowd pays a transaction on the chain for as many.
 */
const changeMembers = ({ rows, counts }: Change): string => `
  IF crowded <> '{}' THEN${
    counts
      ? addCounts(`
      SELECT m.address, r.type, r.count
      FROM (SELECT pool_id, type, sum(count) AS count FROM (${rows}) r WHERE pool_id = ANY(crowded) GROUP BY 1, 2) r
      CROSS JOIN LATERAL (SELECT address FROM pool_members WHERE pool_id = r.pool_id AND indexed OFFSET 0) m`)
      : ''
  }
    PERFORM refresh_streams(crowded);
  END IF;`;

const lockPools = (table: string): string =>
  `PERFORM FROM pools WHERE id IN (SELECT pool_id FROM ${table}) ORDER BY id FOR NO KEY UPDATE;`;

const CREATING = `
  -- Whether create_pools is writing, which keeps the totals itself. It is a trigger and sets this setting while it runs.
  -- A client that sets it changes nothing, because its statements do not run within a trigger. This is a function because
  -- PostgreSQL parses the condition of a trigger again for every statement, and does not inline this language.
  CREATE FUNCTION creating() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN pg_trigger_depth() > 0 AND current_setting('savings.creating', true) = 'on';
  END $$;
`;
const UNLESS_CREATING = `WHEN (creating() IS NOT TRUE)`;

/** The first or the newest confirmed transaction of `pool` and type `k`. */
const end = (order: 'ASC' | 'DESC'): string => `
  SELECT x.id FROM transactions x WHERE x.pool_id = pool AND x.type = k.type AND x.status = 'CONFIRMED'
  ORDER BY x.id ${order} LIMIT 1`;

const MANY = `
  -- So many memberships of an address are looked up one by one. Those that begin together do not see each other, so there
  -- may be some more.
  CREATE FUNCTION few_memberships() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 32';

  -- Makes member_streams agree with the ledger, for all indexed members of these pools. The caller holds their locks. One
  -- pool after the other, so that no plan can compare the rows of all with those of all.
  CREATE FUNCTION refresh_streams(changed uuid[]) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    pool uuid;
  BEGIN
    FOREACH pool IN ARRAY changed LOOP
      WITH streams AS MATERIALIZED (
        SELECT type::text, status::text, (array_agg(id ORDER BY id))[1] AS first_id,
          (array_agg(id ORDER BY id DESC))[1] AS last_id
        FROM transactions WHERE pool_id = pool AND status IN ('PENDING', 'EXPIRED') GROUP BY type, status
        UNION ALL
        SELECT k.type, 'CONFIRMED', (${end('ASC')}), n.id
        FROM (VALUES ${NEWEST.map(([type]) => `('${type}')`).join(', ')}) AS k(type)
        CROSS JOIN LATERAL (${end('DESC')}) n
      ), gone AS (
        DELETE FROM member_streams s WHERE s.pool_id = pool AND NOT EXISTS (
          SELECT FROM streams n WHERE n.type = s.type AND n.status = s.status)
      )
      INSERT INTO member_streams AS s (pool_id, address, type, status, first_id, last_id)
      SELECT pool, m.address, n.type, n.status, n.first_id, n.last_id
      FROM streams n CROSS JOIN pool_members m
      WHERE m.pool_id = pool AND m.indexed AND NOT EXISTS (SELECT FROM member_streams o
        WHERE o.pool_id = pool AND o.address = m.address AND o.type = n.type AND o.status = n.status
          AND o.first_id = n.first_id AND o.last_id = n.last_id)
      ON CONFLICT ON CONSTRAINT member_streams_pkey
        DO UPDATE SET first_id = excluded.first_id, last_id = excluded.last_id;
    END LOOP;
  END $$;

  -- An indexed membership begins (1) or ends (-1): the pool, and all its transactions. The caller holds its lock. A pool
  -- that is deleted has no transactions.
  CREATE FUNCTION count_membership(pool uuid, member text, pool_type text, sign integer) RETURNS void
  LANGUAGE plpgsql AS $$
  BEGIN${addCounts(`
    SELECT member AS address, pool_type AS type, sign AS count
    UNION ALL
    SELECT member, k.type, sign * k.count FROM pools p CROSS JOIN LATERAL (VALUES
      ${NEWEST.map(([type, , count]) => `('${type}', p.${count.slice(0, -1)}_count)`).join(', ')}) AS k(type, count)
    WHERE p.id = pool`)}
  END $$;
`;

const TRANSACTIONS = `
  -- For writers that do not know the owner.
  CREATE FUNCTION transactions_inserting() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    SELECT p.owner_id, u.address = NEW.account INTO NEW.owner_id, NEW.by_owner
    FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.id = NEW.pool_id;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'pool % does not exist', NEW.pool_id
        USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER transactions_inserting BEFORE INSERT ON transactions FOR EACH ROW
    WHEN (NEW.owner_id IS NULL OR NEW.by_owner IS NULL) EXECUTE FUNCTION transactions_inserting();

  -- Also replaces a foreign key, which would look up and lock each row's pool again and take an eighth of the
  -- insertion's time. The pools are locked here, so none is deleted meanwhile. pools_deleted is the other half.
  CREATE FUNCTION transactions_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    missing integer;
    crowded uuid[];
    wrong boolean;
  BEGIN
    ${lockPools('added')}
    ${changePools(INSERTED)}
    IF missing > 0 THEN
      RAISE EXCEPTION 'pool_id and owner_id must be those of a pool'
        USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
    END IF;
    SELECT bool_or(r.by_owner <> (r.account = u.address)) INTO wrong FROM added r JOIN users u ON u.id = r.owner_id;
    IF wrong THEN
      RAISE EXCEPTION 'by_owner must say whether the account is the owner''s'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'transactions_by_owner_check';
    END IF;
    ${changeDays(INSERTED)}
    ${changeMembers(INSERTED)}
    RETURN NULL;
  END $$;
  CREATE TRIGGER transactions_inserted AFTER INSERT ON transactions
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT ${UNLESS_CREATING} EXECUTE FUNCTION transactions_inserted();

  CREATE FUNCTION transactions_updated() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    missing integer;
    crowded uuid[];
  BEGIN
    -- Most updates only fill in gas.
    IF EXISTS (SELECT FROM added r JOIN removed o ON o.id = r.id WHERE r.amount <> o.amount OR r.status <> o.status) THEN
      ${lockPools('added')}
      ${changePools(UPDATED)}
      ${changeDays(UPDATED)}
      ${changeMembers(UPDATED)}
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER transactions_updated AFTER UPDATE ON transactions
    REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION transactions_updated();

  CREATE FUNCTION transactions_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    missing integer;
    crowded uuid[];
  BEGIN
    ${lockPools('removed')}
    ${changePools(DELETED)}
    ${changeDays(DELETED)}
    ${changeMembers(DELETED)}
    RETURN NULL;
  END $$;
  CREATE TRIGGER transactions_deleted AFTER DELETE ON transactions
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION transactions_deleted();
`;

/** A pool's rate is that of its newest remaining accrual, read under the pool's lock. */
const changeYield = (table: string, sign: string): string => `
  WITH changed AS (
    SELECT r.pool_id, ${sign}sum(r.amount) AS amount,
      coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = r.pool_id
       ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0) AS apr_bps
    FROM ${table} r GROUP BY r.pool_id
  ), before AS (
    SELECT p.id, p.apr_bps FROM pools p JOIN changed c ON c.pool_id = p.id
  ), updated AS (
    UPDATE pools p SET total_yield = p.total_yield + c.amount, apr_bps = c.apr_bps,
      last_update = changed_at(p.last_update)
    FROM changed c JOIN before b ON b.id = c.pool_id WHERE p.id = c.pool_id
    RETURNING p.type, c.amount, c.apr_bps - b.apr_bps AS apr_bps, p.owner_id
  ), owners AS (${addToOwners('SELECT owner_id, type, amount AS yield, apr_bps FROM updated', 'yield', 'apr_bps')}
  )
  UPDATE pool_totals t SET yield = t.yield + u.amount, apr_bps = t.apr_bps + u.apr_bps
  FROM (SELECT type, sum(amount) AS amount, sum(apr_bps) AS apr_bps FROM updated GROUP BY type) u
  WHERE t.shard = pool_totals_shard() AND t.type = u.type;`;

const ACCRUALS = `
  CREATE FUNCTION yield_accruals_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ${lockPools('added')}
    ${changeYield('added', '')}
    RETURN NULL;
  END $$;
  CREATE TRIGGER yield_accruals_inserted AFTER INSERT ON yield_accruals
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_inserted();

  CREATE FUNCTION yield_accruals_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ${lockPools('removed')}
    ${changeYield('removed', '-')}
    RETURN NULL;
  END $$;
  CREATE TRIGGER yield_accruals_deleted AFTER DELETE ON yield_accruals
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_deleted();
`;

/** Columns of pools that follow from other tables, with their values in a new pool. */
const DERIVED: Record<string, string> = {
  balance: '0',
  pending_balance: '0',
  total_yield: '0',
  claimed_yield: '0',
  apr_bps: '0',
  member_count: '0',
  deposit_count: '0',
  withdrawal_count: '0',
  claim_count: '0',
  last_deposit_id: 'NULL',
  last_withdrawal_id: 'NULL',
  last_claim_id: 'NULL',
  last_claimed_at: 'NULL',
};

const POOLS = `
  -- For each row, because only the API creates many pools, through create_pools.
  CREATE FUNCTION pools_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF (${Object.keys(DERIVED)
      .map((column) => `NEW.${column}`)
      .join(', ')}) IS DISTINCT FROM (${Object.values(DERIVED).join(', ')}) THEN
      RAISE EXCEPTION 'derived columns of a new pool must have their defaults' USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE pool_totals SET pools = pools + 1 WHERE shard = pool_totals_shard() AND type = NEW.type;
    ${addToOwners('SELECT NEW.owner_id AS owner_id, NEW.type AS type, 1 AS pools', 'pools')};
    RETURN NULL;
  END $$;
  CREATE TRIGGER pools_inserted AFTER INSERT ON pools
    FOR EACH ROW ${UNLESS_CREATING} EXECUTE FUNCTION pools_inserted();

  CREATE FUNCTION pools_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF EXISTS (SELECT FROM transactions t JOIN removed r ON r.id = t.pool_id) THEN
      RAISE EXCEPTION 'the pool has transactions'
        USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
    END IF;
    UPDATE pool_totals t SET pools = t.pools - r.pools
    FROM (SELECT type, count(*) AS pools FROM removed GROUP BY type) r
    WHERE t.shard = pool_totals_shard() AND t.type = r.type;
    -- Without transactions and accruals it had neither a balance nor yield.
    ${addToOwners('SELECT owner_id, type, -1 AS pools FROM removed', 'pools')};
    RETURN NULL;
  END $$;
  CREATE TRIGGER pools_deleted AFTER DELETE ON pools
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION pools_deleted();
`;

const MEMBERS = `
  -- A new member lists his own payments into the pool as a member from now on; a member who leaves, as an outsider. The
  -- caller holds the pool's lock, which blocks payments meanwhile. The cost grows with the address's payments into the
  -- pool.
  CREATE FUNCTION move_outside(pool uuid, member text, sign integer) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO account_days AS a (address, day, writer, deposits, withdrawals, claims)
    SELECT member, (t.created_at AT TIME ZONE 'UTC')::date AS day, writer(),
      sign * count(*) FILTER (WHERE t.type = 'DEPOSIT'), sign * count(*) FILTER (WHERE t.type = 'WITHDRAWAL'),
      sign * count(*) FILTER (WHERE t.type = 'YIELD_CLAIM')
    FROM transactions t WHERE t.account = member AND NOT t.by_owner AND t.pool_id = pool
    GROUP BY day ORDER BY day
    ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
      deposits = a.deposits + excluded.deposits,
      withdrawals = a.withdrawals + excluded.withdrawals,
      claims = a.claims + excluded.claims;
  END $$;

  CREATE FUNCTION pool_members_inserting() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.indexed := NEW.role = 'MEMBER' AND EXISTS (SELECT FROM pool_members f
      WHERE NOT f.indexed AND f.role = 'MEMBER' AND f.address = NEW.address OFFSET few_memberships() - 1);
    RETURN NEW;
  END $$;
  CREATE TRIGGER pool_members_inserting BEFORE INSERT ON pool_members FOR EACH ROW
    WHEN (NEW.indexed IS NULL) EXECUTE FUNCTION pool_members_inserting();

  CREATE FUNCTION pool_members_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE pools SET member_count = member_count + 1, last_update = changed_at(last_update) WHERE id = NEW.pool_id;
    PERFORM move_outside(NEW.pool_id, NEW.address, -1);
    IF NEW.indexed THEN
      PERFORM count_membership(NEW.pool_id, NEW.address, NEW.type, 1);
      PERFORM refresh_streams(ARRAY[NEW.pool_id]);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER pool_members_inserted AFTER INSERT ON pool_members FOR EACH ROW
    WHEN (NEW.role = 'MEMBER' AND creating() IS NOT TRUE) EXECUTE FUNCTION pool_members_inserted();

  CREATE FUNCTION pool_members_deleting() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF EXISTS (SELECT FROM pools WHERE id = OLD.pool_id) THEN
      RAISE EXCEPTION 'the owner cannot leave' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
  END $$;
  CREATE TRIGGER pool_members_deleting BEFORE DELETE ON pool_members
    FOR EACH ROW WHEN (OLD.role = 'OWNER') EXECUTE FUNCTION pool_members_deleting();

  -- The update locks the pool. A payment that still saw the member has been committed by then, so it is counted.
  CREATE FUNCTION pool_members_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE pools SET member_count = member_count - 1, last_update = changed_at(last_update) WHERE id = OLD.pool_id;
    -- Not needed when the pool itself is deleted.
    IF FOUND THEN PERFORM move_outside(OLD.pool_id, OLD.address, 1); END IF;
    IF OLD.indexed THEN
      DELETE FROM member_streams WHERE pool_id = OLD.pool_id AND address = OLD.address;
      PERFORM count_membership(OLD.pool_id, OLD.address, OLD.type, -1);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER pool_members_deleted AFTER DELETE ON pool_members
    FOR EACH ROW WHEN (OLD.role = 'MEMBER') EXECUTE FUNCTION pool_members_deleted();
`;

/** Only triggers may write derived data. */
const BY_CLIENT = `WHEN (pg_trigger_depth() = 0)`;
const refuse = (name: string, events: string, table: string, why: string): string => `
  CREATE TRIGGER ${name} BEFORE ${events} ON ${table} FOR EACH STATEMENT ${BY_CLIENT} EXECUTE FUNCTION refuse_write('${why}');`;

const REFUSALS = `
  -- Whoever repairs derived data sets savings.repair to the id of his transaction: a setting that is left on a
  -- connection means nothing in the next one. Anyone may set it, so it counts only for a role that owns the table or
  -- acts for its owner, who could drop these triggers as well. In an installation with one role for everything that
  -- includes the service, which has no statement that sets it. Asked here, because conditions of triggers cost more.
  CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    IF TG_LEVEL = 'STATEMENT' AND current_setting('savings.repair', true) = pg_current_xact_id_if_assigned()::text THEN
      IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NULL; END IF;
      RAISE EXCEPTION 'only the owner of % may repair it', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION '% of % refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'restrict_violation';
  END $$;
  ${refuse(
    'transactions_fixed',
    'UPDATE OF id, pool_id, owner_id, by_owner, type, account, created_at',
    'transactions',
    'totals would not follow',
  )}
  ${refuse('yield_accruals_fixed', 'UPDATE', 'yield_accruals', 'totals would not follow')}
  ${refuse('pool_members_fixed', 'UPDATE', 'pool_members', 'counts would not follow')}
  ${refuse('pools_fixed', 'UPDATE OF id, type, owner_id, created_at', 'pools', 'totals would not follow')}
  ${refuse('pools_derived', `UPDATE OF ${Object.keys(DERIVED).join(', ')}`, 'pools', 'derived from the ledger')}
  ${refuse('account_days_derived', 'INSERT OR UPDATE OR DELETE', 'account_days', 'derived from the ledger')}
  ${['owner_totals', 'pool_totals', 'member_streams', 'member_counts']
    .map((table) =>
      refuse(`${table}_derived`, 'INSERT OR UPDATE OR DELETE', table, 'derived from the ledger'),
    )
    .join('')}
  ${[
    'pools',
    'pool_members',
    'transactions',
    'yield_accruals',
    'account_days',
    'owner_totals',
    'pool_totals',
    'member_streams',
    'member_counts',
  ]
    .map((table) => refuse(`${table}_kept`, 'TRUNCATE', table, 'totals would not follow'))
    .join('')}
  -- account_days and pool_members hold addresses too. Signing in assigns the same address again, which is allowed.
  CREATE TRIGGER users_fixed BEFORE UPDATE ON users FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.address <> OLD.address) EXECUTE FUNCTION refuse_write('addresses never change');
`;
