/**
 * Tables of this room without an entity: how far the indexer is, what it follows, and what it has read. Only the indexer
 * writes them.
 */
export const TABLES = [
  'chain_cursor',
  'chain_blocks',
  'chain_contracts',
  'chain_contracts_apart',
  'chain_events',
  'chain_proofs',
  'pool_names',
];
