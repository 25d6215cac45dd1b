-- Named statements of auth. Written by `npm run generate`.

-- src/features/auth/users.sql.ts, on standbys where there are some
-- $1 user uuid
PREPARE me AS
SELECT json_build_object(
  'id', u.id, 'address', u.address,
  'poolCount', (SELECT coalesce(sum(pools), 0) FROM owner_totals WHERE owner_id = u.id AND true),
  'totalDeposits', (SELECT coalesce(sum(deposited), 0) FROM account_days WHERE address = u.address AND contract <> ALL(
  ARRAY(SELECT c.address FROM chain_contracts c UNION SELECT k.contract FROM chain_tokens k
    EXCEPT SELECT k.contract FROM chain_tokens k JOIN chain_facts f ON k.token = f.token_address)))::text,
  'createdAt', iso(u.created_at))::text AS data FROM users u WHERE u.id = ($1::uuid);

-- src/features/auth/users.sql.ts, on standbys where there are some
-- $1 expiresAt text, $2 chainId bigint, $3 user uuid
PREPARE profile AS
  SELECT json_build_object(
'id', u.id, 'address', u.address,
'poolCount', (SELECT coalesce(sum(pools), 0) FROM owner_totals WHERE owner_id = u.id AND true),
'totalDeposits', (SELECT coalesce(sum(deposited), 0) FROM account_days WHERE address = u.address AND contract <> ALL(
ARRAY(SELECT c.address FROM chain_contracts c UNION SELECT k.contract FROM chain_tokens k
  EXCEPT SELECT k.contract FROM chain_tokens k JOIN chain_facts f ON k.token = f.token_address)))::text,
'createdAt', iso(u.created_at), 'tokenExpiresAt', ($1::text), 'chainId', ($2::bigint))::text AS data
  FROM users u WHERE u.id = ($3::uuid);
