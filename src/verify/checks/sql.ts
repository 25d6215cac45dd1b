/** An amount as it counts in sums. Expired deposits count as 0. */
export const counted = (t: string): string => `CASE ${t}.status WHEN 'EXPIRED' THEN 0 ELSE ${t}.amount END`;
/** The part of an amount that is not on the chain yet. */
export const pending = (t: string): string =>
  `CASE WHEN ${t}.status = 'PENDING' AND ${t}.type = 'DEPOSIT' THEN ${t}.amount ELSE 0 END`;

/**
 * Compares the columns of a stored row with a recounted one. Gives `column_name`, `kept` and `recount` (as text) of
 * each column that differs. For a lateral join.
 */
export const compareColumns = (
  columns: readonly string[],
  kept: (column: string) => string,
  recount: (column: string) => string,
): string => `
  (SELECT * FROM (VALUES ${columns
    .map((column) => `('${column}', ${kept(column)}::text, ${recount(column)}::text)`)
    .join(', ')}) AS each(column_name, kept, recount) WHERE each.kept IS DISTINCT FROM each.recount)`;
