import type { Value } from './findings';
import { LOCK_CURSOR, LOCK_POOLS, type Look, wordsOf } from './look';

/** A comparison by SQL, with its repair. */
export interface Comparison {
  /** Values that differ: kind, id, found, wanted. */
  differences: string;
  /** Writes what differs, and nothing else. Left out if a person has to decide what is right. */
  repair?: string;
  /** What keeps others from writing the rows while they are repaired. */
  lock?: 'cursor' | 'pools';
  /** How many words of a row's key are parameters of the statements, an array each: a repair then gets only rows that differ. */
  by?: number;
}

type Options = Pick<Comparison, 'lock' | 'by'> & {
  table: string;
  key: readonly string[];
};

const list = (columns: readonly string[], text: (column: string) => string): string =>
  columns.map(text).join(', ');
/** Columns, and SQL for what they have and should have. */
type Columns = [name: string, kept: string, right: string][];
/** SQL: whether any of them differs. */
const areOther = (columns: Columns): string =>
  `(${columns.map(([, kept, right]) => `(${kept}) IS DISTINCT FROM (${right})`).join(' OR ')})`;
/** SQL: `kind`, `found` and `wanted` (as text) of each that differs. */
const differing = (table: string, columns: Columns): string => `
  LATERAL (SELECT * FROM (VALUES ${columns
    .map(([name, kept, right]) => `('${table}.${name}', (${kept})::text, (${right})::text)`)
    .join(', ')}) AS each(kind, found, wanted) WHERE each.found IS DISTINCT FROM each.wanted) d`;

/**
 * Values of rows `t` that follow from others.
 * @param of `values`: SQL for what each column has to be; `from`: the other rows; `set`: what else a repair sets
 */
export function following(
  of: Options & { values: Readonly<Record<string, string>>; from?: string; where: string; set?: string },
): Comparison {
  const { table, lock, by, key, values, from, where, set } = of;
  const columns = Object.entries(values).map(([name, right]): Columns[number] => [name, `t.${name}`, right]);
  const differs = `${where} AND ${areOther(columns)}`;
  return {
    ...{ lock, by },
    differences: `SELECT concat_ws(' ', ${list(key, (name) => `t.${name}`)}) AS id, d.*
      FROM ${table} t, ${from ? `${from}, ` : ''}${differing(table, columns)}
      WHERE ${differs}`,
    repair: `UPDATE ${table} t SET ${columns.map(([name, , right]) => `${name} = ${right}`).join(', ')}${set ? `, ${set}` : ''}
      ${from ? `FROM ${from}` : ''} WHERE ${differs}`,
  };
}

/**
 * Rows that are counted from others.
 * @param of `recount`: SQL for the rows that there should be; `of`: the condition of these rows `t` of the table;
 * `writer`: of sums, which are 0 without a row and of which each writer has separate rows, the writer's column and the
 * function that names the current one
 */
export function recounted(
  of: Options & {
    columns: readonly string[];
    recount: string;
    of: string;
    writer?: readonly [column: string, name: string];
  },
): Comparison {
  const { table, lock, by, columns, recount, writer } = of;
  const key = of.key.join(', ');
  const all = columns.join(', ');
  const side = (name: string): string => (writer ? `coalesce(${name}, 0)` : name);
  const bothSides = `
    WITH recount AS MATERIALIZED (${recount}), kept AS (
      SELECT ${key}, ${list(columns, (column) => (writer ? `sum(${column}) AS ${column}` : column))}
      FROM ${table} t WHERE ${of.of} ${writer ? `GROUP BY ${key}` : ''}
    ), both_sides AS MATERIALIZED (
      SELECT ${key}, ${list(columns, (column) => `${side(`k.${column}`)} AS kept_${column}, ${side(`r.${column}`)} AS ${column}`)}
      FROM recount r FULL JOIN kept k USING (${key})
    )`;
  const pairs = columns.map((name): Columns[number] => [name, `b.kept_${name}`, `b.${name}`]);
  const conflict = `ON CONFLICT ON CONSTRAINT ${table}_pkey DO UPDATE SET`;
  return {
    ...{ lock, by },
    differences: `${bothSides}
      SELECT concat_ws(' ', ${list(of.key, (name) => `b.${name}`)}) AS id, d.*
      FROM both_sides b, ${differing(table, pairs)} ORDER BY 1`,
    // To sums, which others write meanwhile, it adds what is missing.
    repair: writer
      ? `${bothSides}
        INSERT INTO ${table} AS s (${key}, ${writer[0]}, ${all})
        SELECT ${key}, ${writer[1]}(), ${list(columns, (column) => `${column} - kept_${column}`)}
        FROM both_sides WHERE (${all}) <> (${list(columns, (column) => `kept_${column}`)})
        ORDER BY ${key} ${conflict} ${list(columns, (column) => `${column} = s.${column} + excluded.${column}`)}`
      : `WITH recount AS MATERIALIZED (${recount}), gone AS (
          DELETE FROM ${table} t WHERE ${of.of} AND NOT EXISTS (
            SELECT FROM recount r WHERE ${of.key.map((name) => `r.${name} = t.${name}`).join(' AND ')})
        )
        INSERT INTO ${table} AS s (${key}, ${all}) SELECT ${key}, ${all} FROM recount
        ${conflict} ${list(columns, (column) => `${column} = excluded.${column}`)}
        WHERE ${areOther(columns.map((name) => [name, `s.${name}`, `excluded.${name}`]))}`,
  };
}

/** Compares with what should be, and repairs what differs. @param isClear false for rows that follow from what is in doubt */
export async function compareDerived(
  look: Look,
  all: readonly Comparison[],
  parameters: unknown[] = [],
  isClear?: (row: string) => boolean,
): Promise<void> {
  const { client } = look;
  for (const { differences, repair, lock, by } of all) {
    const write = async (rows: string[]): Promise<void> => {
      const wrong = by ? wordsOf(rows, by) : parameters;
      if (lock === 'cursor') await client.query(LOCK_CURSOR);
      if (lock === 'pools') await client.query(LOCK_POOLS, [wrong[0]]);
      await client.query(repair!, wrong);
    };
    const found = await look.rows<Value>(differences, ...parameters);
    await look.report(found, repair === undefined ? undefined : write, by, isClear);
  }
}
