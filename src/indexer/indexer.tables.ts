/** Tables that only the indexer and the triggers on them know: what it has read, and how to take it back. */
export const TABLES = ['chain_events', 'position_journal', 'set_aside_counts'];
