/** Statements alone read and write it. */
export const TABLES = ['event_tickets'];
