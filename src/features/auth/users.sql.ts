import { statement } from '#platform/postgres/statement';
import type { Session } from '#features/access/current-user';
import { depositedBy } from '#features/analytics/analytics.sql';
import { countOwnedBy } from '#features/pools/pools.sql';

const PROFILE_FIELDS = `
  'id', u.id, 'address', u.address,
  'poolCount', ${countOwnedBy('u.id')},
  'totalDeposits', ${depositedBy('u.address')}::text,
  'createdAt', iso(u.created_at)`;

export const ME = statement<{ user: string }, { data: string }>(
  'me',
  { user: 'uuid' },
  `SELECT json_build_object(${PROFILE_FIELDS})::text AS data FROM users u WHERE u.id = :user`,
  { onStandby: true, chargedTo: 'user' },
);

/** When a token expires, unless its session ends earlier, and for which chain it is. */
export const tokenOf = ({ exp, chainId }: Session): { expiresAt: string; chainId: number | null } => ({
  expiresAt: new Date(exp * 1000).toISOString(),
  chainId: chainId ?? null,
});

export const PROFILE = statement<
  { user: string; expiresAt: string; chainId: number | null },
  { data: string }
>(
  'profile',
  { user: 'uuid', expiresAt: 'text', chainId: 'bigint' },
  `
    SELECT json_build_object(${PROFILE_FIELDS}, 'tokenExpiresAt', :expiresAt, 'chainId', :chainId)::text AS data
    FROM users u WHERE u.id = :user`,
  { onStandby: true, chargedTo: 'user' },
);
