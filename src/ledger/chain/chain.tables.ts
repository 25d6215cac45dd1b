/** Tables of this room without an entity: how far the indexer is, and what it follows. Only the indexer writes them. */
export const TABLES = ['chain_cursor', 'chain_blocks', 'chain_contracts'];
