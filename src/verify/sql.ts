/** What an amount counts for in sums: expired deposits in none. */
export const counted = (t: string): string => `CASE ${t}.status WHEN 'EXPIRED' THEN 0 ELSE ${t}.amount END`;
/** The part of it that is not on the chain. */
export const pending = (t: string): string =>
  `CASE WHEN ${t}.status = 'PENDING' AND ${t}.type = 'DEPOSIT' THEN ${t}.amount ELSE 0 END`;

/**
 * Compares columns of a kept row with those of a recounted one: `column_name`, `kept` and `recount` (as text) of each
 * that differs. To be joined laterally.
 */
export const compareColumns = (
  columns: readonly string[],
  kept: (column: string) => string,
  recount: (column: string) => string,
): string => `
  (SELECT * FROM (VALUES ${columns
    .map((column) => `('${column}', ${kept(column)}::text, ${recount(column)}::text)`)
    .join(', ')}) AS each(column_name, kept, recount) WHERE each.kept IS DISTINCT FROM each.recount)`;
