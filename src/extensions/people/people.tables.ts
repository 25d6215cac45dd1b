/** A table of this room. Functions of the database write it. */
export const TABLES = ['account_deletions'];
