import { statement } from '../../src/database/statement';
import { NEW_POOL_TYPES, type NewPool } from '../../src/pools/pools.sql';

/**
 * The service's CREATE_POOL for tables without triggers. It writes what they would derive for the new pool itself.
 */
export const CREATE_PLAIN_POOL = statement<NewPool, { id: string }>(
  'create_plain_pool',
  NEW_POOL_TYPES,
  `
    WITH pool AS (
      INSERT INTO pools (id, type, owner_id, contract_address, auto_compound, member_count, created_at, last_update,
        balance, pending_balance, deposit_count, last_deposit_id)
      SELECT :pool, :type, :owner, :contract, :autoCompound, cardinality(:members),
        :createdAt, :createdAt, :amount, :amount, 1, :deposit RETURNING id, type
    ), readers AS (
      INSERT INTO pool_members (pool_id, address, role, type)
      SELECT pool.id, reader.address, reader.role, pool.type FROM pool,
        (SELECT :ownerAddress AS address, 'OWNER' AS role UNION ALL SELECT unnest(:members), 'MEMBER') reader
    ), deposit AS (
      INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount,
        created_at)
      SELECT :deposit, pool.id, :owner, true, 'DEPOSIT', 'PENDING', :ownerAddress, :amount, :amount, :createdAt FROM pool
    )
    SELECT id FROM pool`,
);
