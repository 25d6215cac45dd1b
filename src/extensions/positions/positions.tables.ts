/** Tables of this module without an entity: what positions are reckoned from. Only the indexer writes them. */
export const TABLES = ['pool_weights', 'accrual_rates'];
