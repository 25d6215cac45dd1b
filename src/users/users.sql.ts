import { depositedBy } from '../analytics/analytics.sql';
import { statement } from '../database/statement';
import { countOwnedBy } from '../pools/pools.sql';

export const ME = statement<{ user: string }, { data: string }>(
  'me',
  { user: 'uuid' },
  `
    SELECT json_build_object(
      'id', u.id, 'address', u.address,
      'poolCount', ${countOwnedBy('u.id')},
      'totalDeposits', ${depositedBy('u.address')}::text,
      'createdAt', iso(u.created_at))::text AS data
    FROM users u WHERE u.id = :user`,
);
