import type { Value } from './findings';
import { LOCK_CURSOR, type Look, unique, wordsOf } from './look';

/** Values by the names of columns. */
export type Row = Record<string, string | number | bigint | null>;
/** By the names of tables. */
export type Rows = Record<string, Row[]>;

/** The tables whose rows a model makes. */
export interface Model {
  /** The key columns of each table. The columns that the model gives its rows are compared. */
  tables: Record<string, readonly string[]>;
  /** SQL: the condition for the rows `t` of keys. Parameters: their words, an array each. */
  of: string;
  /** How many words of a row's key are the key by which the model makes it. */
  by: number;
  /** SQL: what else a repair removes. Parameters: as above. */
  clear?: string;
}

/** Rows in one statement. */
const ROWS_PER_INSERT = 5000;

const textOf = (value: Row[string] | undefined): string | null =>
  value === null || value === undefined ? null : `${value}`;

/**
 * Compares the stored rows of keys with those of a model, in one snapshot, and replaces rows of the keys that differ.
 * @param replay makes the rows of keys, from what is stored at that time
 * @param isClear whether the rows of a key may be derived again
 */
export async function compareModel(
  look: Look,
  model: Model,
  keys: string[],
  replay: (keys: string[]) => Promise<Rows>,
  isClear?: (key: string) => boolean,
): Promise<void> {
  const tables = Object.keys(model.tables);
  const found = await look.reading(async () => {
    const wanted = await replay(keys);
    const values: Value[][] = [];
    for (const table of tables) values.push(await compareRows(look, model, table, keys, wanted[table]));
    return values.flat();
  });
  const write = async (wrong: string[]): Promise<void> => {
    await look.client.query(LOCK_CURSOR);
    const wanted = await replay(wrong);
    for (const table of tables) await writeRows(look, model, table, wrong, wanted[table]);
    if (model.clear) await look.client.query(model.clear, wordsOf(wrong, model.by));
  };
  await look.report(found, write, model.by, isClear);
}

async function compareRows(
  { client }: Look,
  { tables, of, by }: Model,
  table: string,
  keys: string[],
  wanted: Row[],
): Promise<Value[]> {
  const key = tables[table];
  const text = `SELECT t.* FROM ${table} t WHERE ${of}`;
  // As text, whatever its type.
  const types = { getTypeParser: () => String };
  const { rows: kept } = await client.query<Row>({ text, types, values: wordsOf(keys, by) });
  const columns = Object.keys(wanted[0] ?? kept[0] ?? {}).filter((name) => !key.includes(name));
  const idOf = (row: Row): string => key.map((each) => row[each]).join(' ');
  const [is, should] = [kept, wanted].map((some) => new Map(some.map((row) => [idOf(row), row])));
  return unique([...should.keys(), ...is.keys()]).flatMap((id) => {
    const [row, right] = [is.get(id), should.get(id)];
    return columns
      .map((column) => ({
        ...{ kind: `${table}.${column}`, id },
        ...{ found: textOf(row?.[column]), wanted: textOf(right?.[column]) },
      }))
      .filter(({ found, wanted: due }) => found !== due || !row !== !right);
  });
}

async function writeRows(
  { client }: Look,
  { of, by }: Model,
  table: string,
  keys: string[],
  wanted: Row[],
): Promise<void> {
  await client.query(`DELETE FROM ${table} t WHERE ${of}`, wordsOf(keys, by));
  const text = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`;
  for (let i = 0; i < wanted.length; i += ROWS_PER_INSERT) {
    const rows = wanted.slice(i, i + ROWS_PER_INSERT);
    await client.query(text, [
      JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)),
    ]);
  }
}
