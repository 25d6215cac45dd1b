/**
 * Tables that only the indexer and the triggers on them know: what it cannot apply, how to take back what it did, and
 * which receipts it waits for.
 */
export const TABLES = ['position_journal', 'receipt_waits', 'set_aside_counts'];
