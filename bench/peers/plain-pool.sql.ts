import type { Statement } from '../../src/database/database';

/** The service's CREATE_POOL for tables without triggers: what they would derive of the new pool itself is written. */
export const CREATE_PLAIN_POOL: Statement = {
  name: 'create_plain_pool',
  text: `
    WITH pool AS (
      INSERT INTO pools (id, type, owner_id, contract_address, auto_compound, member_count, created_at, last_update,
        balance, pending_balance, deposit_count, last_deposit_id)
      SELECT $1::uuid, $2::text, $3::uuid, $4::text, $5::boolean, cardinality($6::text[]),
        $7::timestamptz, $7::timestamptz, $10::numeric, $10::numeric, 1, $9::uuid RETURNING id, type
    ), readers AS (
      INSERT INTO pool_members (pool_id, address, role, type)
      SELECT pool.id, reader.address, reader.role, pool.type FROM pool,
        (SELECT $8::text AS address, 'OWNER' AS role UNION ALL SELECT unnest($6::text[]), 'MEMBER') reader
    ), deposit AS (
      INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount,
        created_at)
      SELECT $9::uuid, pool.id, $3::uuid, true, 'DEPOSIT', 'PENDING', $8::text, $10::numeric, $10::numeric, $7::timestamptz FROM pool
    )
    SELECT id FROM pool`,
};
