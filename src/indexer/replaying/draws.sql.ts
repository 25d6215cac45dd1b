/** SQL: the draw that follows the one before it, of those that have events or are stored. It uses the indexes only. */
const next = (before: string): string => `
  SELECT contract, draw_id FROM (
    ${[
      'chain_events WHERE draw_id IS NOT NULL AND draw_id <= 9007199254740991 AND',
      'lottery_draws WHERE',
      'lottery_tickets WHERE',
    ]
      .map(
        (
          from,
        ) => `(SELECT contract, draw_id::numeric AS draw_id FROM ${from} (contract, draw_id) > (${before})
      ORDER BY contract, ${from.split(' ')[0]}.draw_id LIMIT 1)`,
      )
      .join('\n    UNION ALL ')}
  ) x ORDER BY contract COLLATE "C", draw_id LIMIT 1`;

/** Draws after this one. Parameters: contract and id, how many. */
export const NEXT_DRAWS = `
  WITH RECURSIVE draws(contract, draw_id, n) AS (
    SELECT *, 1 FROM (${next('$1::text, $2::bigint')}) first
    UNION ALL
    SELECT following.*, n + 1 FROM draws d CROSS JOIN LATERAL (${next('d.contract, d.draw_id')}) following WHERE n < $3::int
  )
  SELECT contract, draw_id::text AS "drawId" FROM draws ORDER BY n`;

const TABLES = ['lottery_tickets', 'lottery_draws'];

/** Temporary tables are found before those of the schema. */
export const shadows = (schema: string): string[] =>
  TABLES.map((table) => `CREATE TEMP TABLE ${table} (LIKE ${schema}.${table} INCLUDING ALL) ON COMMIT DROP`);

/** Draws of which any row differs. Parameters: contracts, draw ids. */
export const wrongDraws = (schema: string): string => `
  SELECT DISTINCT contract, draw_id::text AS "drawId" FROM (
    ${TABLES.flatMap((table) => {
      const [made, kept] = ['pg_temp', schema].map(
        (room) => `SELECT to_jsonb(t) AS row, t.contract, t.draw_id FROM ${room}.${table} t
          JOIN unnest($1::text[], $2::bigint[]) AS w(contract, draw_id) USING (contract, draw_id)`,
      );
      return [`(${made} EXCEPT ${kept})`, `(${kept} EXCEPT ${made})`];
    }).join(' UNION ALL ')}
  ) wrong`;
