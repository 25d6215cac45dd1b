import { NONCE_LIFETIME_SECONDS } from '../common/lifetimes';
import { statement } from '../database/statement';
import type { SignedInUser } from './auth.dto';

interface NewNonces {
  nonces: string[];
  /** Null: any wallet may use the nonce. */
  addresses: (string | null)[];
}

export const ISSUE_NONCES = statement<NewNonces, never>(
  'issue_nonces',
  { nonces: 'text[]', addresses: 'text[]' },
  `
    INSERT INTO nonces (nonce, address, expires_at)
    SELECT nonce, address, now() + make_interval(secs => ${NONCE_LIFETIME_SECONDS})
    FROM unnest(:nonces, :addresses) AS n (nonce, address)`,
);

const USABLE = 'nonce = :nonce AND expires_at > now() AND (address IS NULL OR address = :address)';

/** Does not use the nonce up. Only messages with a valid nonce are parsed and checked on the chain. */
export const FIND_NONCE = statement<{ nonce: string; address: string }, { found: true }>(
  'find_nonce',
  { nonce: 'text', address: 'text' },
  `SELECT true AS found FROM nonces WHERE ${USABLE}`,
);

/**
 * One statement: of simultaneous sign-ins with the same nonce, exactly one deletes the row. The update on conflict
 * changes nothing; it only makes RETURNING return an existing user.
 */
export const SIGN_IN = statement<
  { nonce: string; address: string; newId: string },
  SignedInUser & { generation: number }
>(
  'sign_in',
  { nonce: 'text', address: 'text', newId: 'uuid' },
  `
    WITH used AS (
      DELETE FROM nonces WHERE ${USABLE} RETURNING 1
    )
    INSERT INTO users (id, address, created_at) SELECT :newId, :address, now() FROM used
    ON CONFLICT ON CONSTRAINT users_address_key DO UPDATE SET address = excluded.address
    RETURNING id, address, iso(created_at) AS "createdAt", session_generation AS generation`,
);
