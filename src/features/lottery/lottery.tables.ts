/** Tables of this module without an entity. The indexer writes tickets, and triggers the totals. */
export const TABLES = ['lottery_tickets', 'lottery_totals'];
