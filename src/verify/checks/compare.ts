import { LOCK_CURSOR, type Look, type Value } from './look';

interface Derived {
  table: string;
  /** What keeps others from writing the rows while they are repaired. */
  lock?: 'cursor' | 'pools';
  /** How many words of a row's key are parameters of the statements, an array each: a repair then gets only rows that differ. */
  by?: number;
}

/** Values that a statement finds to be wrong. */
export interface Found extends Derived {
  /** SQL: id, column, kept, recount. */
  differences: string;
  /** Left out if only people can tell what is right. */
  repair?: string;
}

/** Rows that are counted from others. */
export interface Recounted extends Derived {
  key: readonly string[];
  columns: readonly string[];
  /** SQL: key and columns of the rows that there should be, and the condition of these rows `t` of the table. */
  recount: string;
  of: string;
  /** Of sums, which are 0 without a row and of which each writer has separate rows: the writer's column, and the function that names the current one. */
  writer?: readonly [column: string, name: string];
  /** SQL: the name of a row `b` in reports; its key, if left out. */
  id?: string;
}

/** Values of rows that follow from others. */
export interface Following extends Derived {
  key: readonly string[];
  /** SQL: what each column of row `t` has to be. */
  values: Readonly<Record<string, string>>;
  /** SQL: the other rows, if any, and how they belong to `t`. */
  from?: string;
  where: string;
  /** SQL: what else a repair sets. */
  set?: string;
  /** SQL: more columns of a difference. */
  select?: string;
  /** Only people can tell what is right. */
  isDoubtful?: boolean;
}

type Compared = Recounted | Following | Found;

/** Every change to a pool's ledger locks its row, so later changes add to the repaired values. */
const LOCK_POOLS = 'SELECT FROM pools WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE';

const list = (columns: readonly string[], text: (column: string) => string): string =>
  columns.map(text).join(', ');
/** SQL: whether any of these pairs differs. */
const areOther = (pairs: [kept: string, right: string][]): string =>
  `(${pairs.map(([kept, right]) => `(${kept}) IS DISTINCT FROM (${right})`).join(' OR ')})`;
const pairsOf = ({ values }: Following): [string, string][] =>
  Object.entries(values).map(([name, right]) => [`t.${name}`, right]);
/** SQL: `column`, `kept` and `recount` (as text) of each column that differs. */
const differing = (columns: [name: string, kept: string, right: string][]): string => `
  LATERAL (SELECT * FROM (VALUES ${columns
    .map(([name, kept, right]) => `('${name}', (${kept})::text, (${right})::text)`)
    .join(', ')}) AS each("column", kept, recount) WHERE each.kept IS DISTINCT FROM each.recount) d`;

/** SQL: the rows that there are, and should be. */
const bothSides = ({ table, key, columns, recount, of, writer }: Recounted): string => {
  const side = (name: string): string => (writer ? `coalesce(${name}, 0)` : name);
  return `
  WITH recount AS MATERIALIZED (${recount}), kept AS (
    SELECT ${key.join(', ')}, ${list(columns, (column) => (writer ? `sum(${column}) AS ${column}` : column))}
    FROM ${table} t WHERE ${of} ${writer ? `GROUP BY ${key.join(', ')}` : ''}
  ), both_sides AS MATERIALIZED (
    SELECT ${key.join(', ')}, ${list(columns, (column) => `${side(`k.${column}`)} AS kept_${column}, ${side(`r.${column}`)} AS ${column}`)}
    FROM recount r FULL JOIN kept k USING (${key.join(', ')})
  )`;
};

/** Row: id, column, kept, recount. */
export const comparison = (all: Compared): string => {
  if ('differences' in all) return all.differences;
  const names = all.key.map((name) => `${'values' in all ? 't' : 'b'}.${name}`).join(', ');
  if ('values' in all) {
    const { table, values, from, where, select } = all;
    const columns = Object.entries(values).map(([name, right]): [string, string, string] => [
      name,
      `t.${name}`,
      right,
    ]);
    return `SELECT concat_ws(' ', ${names}) AS id, d.*${select ? `, ${select}` : ''}
      FROM ${table} t, ${from ? `${from}, ` : ''}${differing(columns)} WHERE ${where} AND ${areOther(pairsOf(all))}`;
  }
  return `${bothSides(all)}
    SELECT concat_ws(' ', ${all.id ?? names}) AS id, d.*
    FROM both_sides b, ${differing(all.columns.map((name) => [name, `b.kept_${name}`, `b.${name}`]))} ORDER BY 1`;
};

/** Writes what differs, and nothing else. To sums, which others write meanwhile, it adds what is missing. */
export const repairOf = (all: Compared): string => {
  if ('differences' in all) return all.repair!;
  const { table, key } = all;
  if ('values' in all) {
    const { values, from, where, set } = all;
    const columns = Object.entries(values);
    return `UPDATE ${table} t SET ${columns.map(([name, right]) => `${name} = ${right}`).join(', ')}${set ? `, ${set}` : ''}
      ${from ? `FROM ${from}` : ''} WHERE ${where} AND ${areOther(pairsOf(all))}`;
  }
  const { columns, recount, of, writer } = all;
  const conflict = `ON CONFLICT ON CONSTRAINT ${table}_pkey DO UPDATE SET`;
  if (writer)
    return `${bothSides(all)}
      INSERT INTO ${table} AS s (${key.join(', ')}, ${writer[0]}, ${columns.join(', ')})
      SELECT ${key.join(', ')}, ${writer[1]}(), ${list(columns, (column) => `${column} - kept_${column}`)}
      FROM both_sides WHERE (${columns.join(', ')}) <> (${list(columns, (column) => `kept_${column}`)})
      ORDER BY ${key.join(', ')} ${conflict} ${list(columns, (column) => `${column} = s.${column} + excluded.${column}`)}`;
  return `WITH recount AS MATERIALIZED (${recount}), gone AS (
      DELETE FROM ${table} t WHERE ${of} AND NOT EXISTS (
        SELECT FROM recount r WHERE ${key.map((name) => `r.${name} = t.${name}`).join(' AND ')})
    )
    INSERT INTO ${table} AS s (${key.join(', ')}, ${columns.join(', ')})
    SELECT ${key.join(', ')}, ${columns.join(', ')} FROM recount
    ${conflict} ${list(columns, (column) => `${column} = excluded.${column}`)}
    WHERE ${areOther(columns.map((name) => [`s.${name}`, `excluded.${name}`]))}`;
};

/** @returns the parameters of the rows that differ */
const parametersOf = (found: Value[], words: number): string[][] => {
  const keys = [...new Set(found.map(({ id }) => id.split(' ').slice(0, words).join(' ')))];
  return Array.from({ length: words }, (_, i) => keys.map((key) => key.split(' ')[i]));
};

/** Compares with what should be, and repairs what differs. @param isClear false while what it follows from is in doubt */
export async function compareDerived(
  look: Look,
  all: readonly Compared[],
  parameters: unknown[] = [],
  isClear = true,
): Promise<void> {
  for (const each of all) {
    const found = await look.rows<Value>(comparison(each), ...parameters);
    const isJudged =
      'differences' in each ? each.repair !== undefined : !('values' in each && each.isDoubtful);
    const repair = (): Promise<void> =>
      repairDerived(look, each, each.by ? parametersOf(found, each.by) : parameters);
    await look.report(each.table, found, isClear && isJudged ? repair : undefined);
  }
}

async function repairDerived({ client }: Look, each: Compared, parameters: unknown[]): Promise<void> {
  if (each.lock === 'cursor') await client.query(LOCK_CURSOR);
  if (each.lock === 'pools') await client.query(LOCK_POOLS, [parameters[0]]);
  await client.query(repairOf(each), parameters);
}

/** The differences, for those who judge them first. */
export const differencesOf = <Row extends Value>(
  look: Look,
  each: Following,
  parameters: unknown[],
): Promise<Row[]> => look.rows<Row>(comparison(each), ...parameters);
