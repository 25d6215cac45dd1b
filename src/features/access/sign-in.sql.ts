import { removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import { NONCE_LIFETIME_SECONDS } from './lifetimes';

/** Without an address any wallet may use the nonce. */
export const ISSUE_NONCES = statement<{ nonces: string[]; addresses: (string | null)[] }, never>(
  'issue_nonces',
  { nonces: 'text[]', addresses: 'text[]' },
  `
    INSERT INTO nonces (nonce, address, expires_at)
    SELECT nonce, address, now() + make_interval(secs => ${NONCE_LIFETIME_SECONDS})
    FROM unnest(:nonces, :addresses) AS n (nonce, address)`,
);

/** Does not use the nonce up. Only messages with a valid nonce are parsed and checked on the chain. */
export const FIND_NONCE = statement<{ nonce: string; address: string }, { found: true }>(
  'find_nonce',
  { nonce: 'text', address: 'text' },
  `
    SELECT true AS found FROM nonces
    WHERE nonce = :nonce AND expires_at > now() AND (address IS NULL OR address = :address)`,
);

export const REMOVE_EXPIRED_NONCES = removeExpired('nonces', 'expires_at', 'now()');

interface SignedIn {
  id: string;
  address: string;
  createdAt: string;
  signIn: string;
  generation: number;
}
interface SignIns {
  nonces: string[];
  addresses: string[];
  /** Each names a sign-in, and becomes the id of the user if the address is new. */
  newIds: string[];
}

/**
 * One row for each sign-in whose nonce was valid; `signIn` names it. Of simultaneous sign-ins with the same nonce, also
 * in other statements, exactly one deletes the nonce; all lock nonces in their order. The update on conflict changes
 * nothing; it only makes RETURNING return a user that another statement has just added.
 */
export const SIGN_IN = statement<SignIns, SignedIn>(
  'sign_in',
  { nonces: 'text[]', addresses: 'text[]', newIds: 'uuid[]' },
  `
    WITH call AS MATERIALIZED (
      SELECT * FROM unnest(:nonces, :addresses, :newIds) AS c (nonce, address, id)
    ), locked AS MATERIALIZED (
      SELECT ctid FROM nonces WHERE nonce = ANY (:nonces) AND expires_at > now()
        AND (address IS NULL OR (nonce, address) IN (SELECT nonce, address FROM call))
      ORDER BY nonce FOR UPDATE
    ), used AS (
      DELETE FROM nonces WHERE ctid = ANY (ARRAY(SELECT ctid FROM locked)) RETURNING nonce, address
    ), valid AS MATERIALIZED (
      SELECT DISTINCT ON (nonce) call.id, call.address FROM used JOIN call USING (nonce)
      WHERE used.address IS NULL OR used.address = call.address ORDER BY nonce
    ), known AS MATERIALIZED (
      SELECT u.id, u.address, u.created_at, u.session_generation FROM valid JOIN users u USING (address)
      WHERE NOT u.has_left
    ), added AS (
      INSERT INTO users (id, address, created_at)
      SELECT DISTINCT ON (address) id, address, now() FROM valid
      WHERE address NOT IN (SELECT known.address FROM known) ORDER BY address
      ON CONFLICT ON CONSTRAINT users_address_key DO UPDATE SET address = excluded.address,
        has_left = false, created_at = CASE WHEN users.has_left THEN excluded.created_at ELSE users.created_at END
      RETURNING id, address, created_at, session_generation
    )
    SELECT valid.id AS "signIn", u.id, u.address, iso(u.created_at) AS "createdAt", u.session_generation AS generation
    FROM valid JOIN (SELECT DISTINCT * FROM known UNION ALL SELECT * FROM added) u USING (address)`,
);
