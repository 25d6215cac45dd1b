import type { PoolType } from '#values/types';
import { statement } from '#platform/postgres/statement';
import { NONCE_LIFETIME_SECONDS } from '#features/access/lifetimes';
import type { SignedInUser } from '#features/auth/auth.dto';

interface NewPool {
  pool: string;
  type: PoolType;
  owner: string;
  contract: string;
  autoCompound: boolean;
  /** Without the owner's. */
  members: string[];
  createdAt: string;
  ownerAddress: string;
  /** Id of the pending transaction. */
  deposit: string;
  amount: string;
}

/**
 * The service's CREATE_POOLS for one pool and for tables without triggers. It writes what they would derive for the new
 * pool itself.
 */
export const CREATE_PLAIN_POOL = statement<NewPool, { id: string }>(
  'create_plain_pool',
  {
    pool: 'uuid',
    type: 'text',
    owner: 'uuid',
    contract: 'text',
    autoCompound: 'boolean',
    members: 'text[]',
    createdAt: 'timestamptz',
    ownerAddress: 'text',
    deposit: 'uuid',
    amount: 'numeric',
  },
  `
    WITH pool AS (
      INSERT INTO pools (id, type, owner_id, contract_address, auto_compound, member_count, created_at, last_update,
        balance, pending_balance, deposit_count, last_deposit_id)
      SELECT :pool, :type, :owner, :contract, :autoCompound, cardinality(:members),
        :createdAt, :createdAt, :amount, :amount, 1, :deposit RETURNING id, type
    ), readers AS (
      INSERT INTO pool_members (pool_id, address, role, type, indexed)
      SELECT pool.id, reader.address, reader.role, pool.type, false FROM pool,
        (SELECT :ownerAddress AS address, 'OWNER' AS role UNION ALL SELECT unnest(:members), 'MEMBER') reader
    ), deposit AS (
      INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount,
        created_at)
      SELECT :deposit, pool.id, :owner, true, 'DEPOSIT', 'PENDING', :ownerAddress, :amount, :amount, :createdAt FROM pool
    )
    SELECT id FROM pool`,
);

/** The service's ISSUE_NONCES for one nonce. */
export const ISSUE_NONCE = statement<{ nonce: string; address: string | null }, never>(
  'issue_nonce',
  { nonce: 'text', address: 'text' },
  `
    INSERT INTO nonces (nonce, address, expires_at)
    VALUES (:nonce, :address, now() + make_interval(secs => ${NONCE_LIFETIME_SECONDS}))`,
);

/** The service's SIGN_IN for one sign-in. */
export const SIGN_IN = statement<
  { nonce: string; address: string; newId: string },
  SignedInUser & { generation: number }
>(
  'sign_in',
  { nonce: 'text', address: 'text', newId: 'uuid' },
  `
    WITH used AS (
      DELETE FROM nonces WHERE nonce = :nonce AND expires_at > now() AND (address IS NULL OR address = :address)
      RETURNING 1
    ), known AS (
      SELECT id, address, created_at, session_generation FROM users WHERE address = :address AND EXISTS (SELECT FROM used)
    ), added AS (
      INSERT INTO users (id, address, created_at)
      SELECT :newId, :address, now() FROM used WHERE NOT EXISTS (SELECT FROM known)
      ON CONFLICT ON CONSTRAINT users_address_key DO UPDATE SET address = excluded.address
      RETURNING id, address, created_at, session_generation
    )
    SELECT id, address, iso(created_at) AS "createdAt", session_generation AS generation
    FROM (SELECT * FROM known UNION ALL SELECT * FROM added) u`,
);
