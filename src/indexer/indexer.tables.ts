/** Tables that only the indexer and the triggers on them know: what it cannot apply, and how to take back what it did. */
export const TABLES = ['position_journal', 'set_aside_counts'];
