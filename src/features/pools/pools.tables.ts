/** Tables of this module without an entity: only statements, the indexer and triggers read and write them. */
export const TABLES = [
  'cancelled_pools',
  'idempotency_keys',
  'member_counts',
  'member_streams',
  'owner_totals',
  'positions',
  'submissions',
  'yield_accruals',
];
