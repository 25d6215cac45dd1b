import type { Look, Value } from './look';

/** Values as text, by the names of columns. */
export type Row = Record<string, string | null>;

/** A table whose rows a model makes: the columns of its key, and those that are compared. */
export interface Made {
  key: readonly string[];
  columns: readonly string[];
}

/** The tables of one model, and an SQL condition with parameters for the rows of table `t` that it makes. */
export interface Model<Table extends string> {
  tables: Record<Table, Made>;
  of: string;
}

/** Rows in one statement. */
const ROWS_PER_INSERT = 5000;

export const namesOf = <Table extends string>({ tables }: Model<Table>): Table[] =>
  Object.keys(tables) as Table[];

/** @returns the differences from the rows that should be stored, by table */
export async function compareRows<Table extends string>(
  look: Look,
  model: Model<Table>,
  parameters: unknown[],
  wanted: Record<Table, Row[]>,
): Promise<Record<Table, Value[]>> {
  const found = {} as Record<Table, Value[]>;
  for (const table of namesOf(model)) {
    const { key, columns } = model.tables[table];
    const list = [...key, ...columns].map((column) => `t.${column}::text`).join(', ');
    const kept = await look.rows<Row>(`SELECT ${list} FROM ${table} t WHERE ${model.of}`, ...parameters);
    const idOf = (row: Row): string => key.map((each) => row[each]).join(' ');
    const [is, should] = [kept, wanted[table]].map((some) => new Map(some.map((row) => [idOf(row), row])));
    found[table] = [...new Set([...should.keys(), ...is.keys()])].flatMap((id) => {
      const [row, right] = [is.get(id), should.get(id)];
      return columns
        .map((column) => ({ id, column, kept: row?.[column] ?? null, recount: right?.[column] ?? null }))
        .filter((each) => each.kept !== each.recount || !row !== !right);
    });
  }
  return found;
}

/** Replaces the stored rows. */
export async function writeRows<Table extends string>(
  { client }: Look,
  model: Model<Table>,
  parameters: unknown[],
  wanted: Record<Table, Row[]>,
): Promise<void> {
  for (const table of namesOf(model)) {
    await client.query(`DELETE FROM ${table} t WHERE ${model.of}`, parameters);
    const text = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`;
    for (let i = 0; i < wanted[table].length; i += ROWS_PER_INSERT)
      await client.query(text, [JSON.stringify(wanted[table].slice(i, i + ROWS_PER_INSERT))]);
  }
}
