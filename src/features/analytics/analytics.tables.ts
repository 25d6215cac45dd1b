/** Derived: triggers write them. */
export const TABLES = ['account_days', 'pool_totals'];
