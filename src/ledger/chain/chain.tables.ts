/**
 * Tables of this module without an entity: how far the indexer is, what it follows, what it has read,
 * and the circles that it makes of that. Only the indexer
 * writes them.
 */
export const TABLES = [
  'chain_cursor',
  'chain_blocks',
  'chain_contracts',
  'chain_contracts_apart',
  'chain_events',
  'chain_facts',
  'chain_proofs',
  'chain_tokens',
  'circles',
  'circle_members',
  'circle_rounds',
  'pool_names',
  'share_holdings',
  'share_totals',
  'share_prices',
];
