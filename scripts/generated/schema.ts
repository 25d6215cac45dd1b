import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { table } from './markdown';

const SRC = path.join(__dirname, '../../src');

/** Runs a statement without parameters in a migrated database. */
export type Ask = <Row>(text: string) => Promise<Row[]>;

const TABLES = `
  SELECT relname AS name, coalesce(obj_description(oid, 'pg_class'), '') AS about
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> 'migrations'
  ORDER BY relname COLLATE "C"`;

const TRIGGERS = `
  SELECT c.relname AS on, t.tgname AS name, p.proname AS function, pg_get_triggerdef(t.oid) AS text
  FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid JOIN pg_proc p ON p.oid = tgfoid
  WHERE NOT tgisinternal AND c.relnamespace = 'public'::regnamespace
  ORDER BY c.relname COLLATE "C", t.tgname COLLATE "C"`;

const FUNCTIONS = `
  SELECT proname AS name, prosrc AS source, coalesce(obj_description(oid, 'pg_proc'), '') AS about
  FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname COLLATE "C"`;

interface Fn {
  name: string;
  source: string;
  about: string;
}

/** The map of docs/ledger.md: which tables there are, which trigger calls which function, and what these write. */
export async function schemaMap(ask: Ask): Promise<string> {
  const tables = await ask<{ name: string; about: string }>(TABLES);
  const triggers = await ask<{ on: string; name: string; function: string; text: string }>(TRIGGERS);
  const functions = await ask<Fn>(FUNCTIONS);
  const grouped = new Map<string, typeof triggers>();
  for (const each of triggers) {
    const key = `${each.on} ${each.function}`;
    grouped.set(key, [...(grouped.get(key) ?? []), each]);
  }
  const names = tables.map(({ name }) => name);
  const rooms = roomsOf(names);
  const called = new Set(triggers.map((each) => each.function));
  const writing = functions.filter(({ name, source }) => !called.has(name) && writesOf(source, names) !== '');
  return [
    '### Tables',
    table(
      ['table', 'belongs to', 'what'],
      tables.map(({ name, about }) => [`\`${name}\``, rooms.get(name) ?? '', about]),
    ),
    '### Triggers',
    table(
      ['on', 'when', 'calls', 'which writes'],
      [...grouped.values()].map((each) => [
        `\`${each[0].on}\``,
        each.map(({ text }) => whenOf(text)).join('; '),
        `\`${each[0].function}\``,
        each[0].function === 'refuse_write'
          ? 'nothing: it refuses'
          : reachOf(each[0].function, functions, names),
      ]),
    ),
    '### Functions that statements call',
    table(
      ['function', 'writes', 'what'],
      writing.map(({ name, about }) => [`\`${name}\``, reachOf(name, functions, names), about]),
    ),
  ].join('\n\n');
}

/** `INSERT`, `UPDATE of status, amount` and so on, and whether it refuses, comes late, or once a row. */
function whenOf(text: string): string {
  const [, time, events] = /(BEFORE|AFTER|INSTEAD OF) (.+?) ON public\./.exec(text) ?? [];
  const row = text.includes('FOR EACH ROW') ? ', each row' : '';
  const late = text.includes('DEFERRABLE') ? ', at the end of the transaction' : '';
  return `${time.toLowerCase()} ${events.replaceAll(' OR ', ', ').toLowerCase()}${row}${late}`;
}

/** Tables that a function writes, by itself or by the functions that it calls. */
function reachOf(name: string, functions: Fn[], tables: string[], seen = new Set<string>()): string {
  const written = new Set<string>();
  const walk = (each: string): void => {
    const fn = functions.find((one) => one.name === each);
    if (!fn || seen.has(each)) return;
    seen.add(each);
    for (const one of writesOf(fn.source, tables).split(', ').filter(Boolean)) written.add(one);
    for (const other of functions) if (new RegExp(`\\b${other.name}\\(`).test(fn.source)) walk(other.name);
  };
  walk(name);
  const found = [...written].sort();
  return found.length > 0 ? found.join(', ') : 'its own row';
}

const writesOf = (source: string, tables: string[]): string =>
  [...source.matchAll(/\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+(?:ONLY\s+)?(\w+)/gi)]
    .map(([, name]) => name)
    .filter((name, at, all) => tables.includes(name) && all.indexOf(name) === at)
    .map((name) => `\`${name}\``)
    .sort()
    .join(', ');

/** The folders that own the tables: by an entity, or by the table's name in a `*.tables.ts`. */
function roomsOf(tables: string[]): Map<string, string> {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(entity|tables)\.ts$/.test(file),
  );
  const rooms = new Map<string, string>();
  for (const file of files.sort()) {
    const text = readFileSync(path.join(SRC, file), 'utf8');
    for (const name of tables)
      if (new RegExp(`['"]${name}['"]`).test(file.endsWith('.entity.ts') ? entityName(text) : text))
        rooms.set(name, `\`src/${path.dirname(file)}\``);
  }
  return rooms;
}

const entityName = (text: string): string =>
  [...text.matchAll(/@Entity\(([^)]*)\)/g)].map(([, name]) => name).join();
