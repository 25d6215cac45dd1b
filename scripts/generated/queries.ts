import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { TypedStatement } from '#platform/postgres/statement';

const SRC = path.join(__dirname, '../../src');

type AnyStatement = TypedStatement<Record<string, unknown>, object>;

const isStatement = (value: unknown): value is AnyStatement =>
  typeof value === 'object' && value !== null && 'parameters' in value && 'text' in value;

/** Statements of an export: it is one, or has some by name. */
const statementsIn = (value: unknown): AnyStatement[] =>
  isStatement(value)
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(statementsIn)
      : [];

/** What has a file of its own in `queries/`: a feature, or a room of platform and ledger. */
const featureOf = (file: string): string => path.basename(path.dirname(file));

const declares = (file: string): boolean =>
  / statement<|\(statement\(|= removeExpired\(/.test(readFileSync(path.join(SRC, file), 'utf8')) &&
  file !== 'platform/postgres/statement.ts';

interface Found {
  file: string;
  /** Name of the export that has it. */
  exported: string;
  statement: AnyStatement;
}

/** Every named statement, by feature and the file that has it. */
export async function namedStatements(): Promise<Map<string, Found[]>> {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.spec|\.d)\.ts$/.test(file) && declares(file))
    .sort();
  const found = new Map<string, Found[]>();
  for (const file of files) {
    const exports = Object.entries((await import(path.join(SRC, file))) as Record<string, unknown>);
    const statements = exports
      .flatMap(([exported, value]) =>
        statementsIn(value).map((statement) => ({ file: `src/${file}`, exported, statement })),
      )
      .sort((one, other) => (one.statement.name < other.statement.name ? -1 : 1));
    const feature = featureOf(file);
    if (statements.length > 0) found.set(feature, [...(found.get(feature) ?? []), ...statements]);
  }
  return found;
}

/** The files of `queries/` by their paths: each statement as PostgreSQL gets it, but for its indentation. */
export async function queries(): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const [feature, statements] of await namedStatements())
    texts.set(
      `queries/${feature}.sql`,
      `-- Named statements of ${feature}. Written by \`npm run generate\`.\n${statements.map(asPrepared).join('')}`,
    );
  return texts;
}

function asPrepared({ file, statement }: Found): string {
  const { name, parameters, parameterTypes, text, onStandby } = statement;
  const typed = parameters.map((each, at) => `$${at + 1} ${each} ${parameterTypes[each]}`).join(', ');
  return [
    `\n-- ${file}${onStandby ? ', on standbys where there are some' : ''}`,
    ...(typed ? [`-- ${typed}`] : []),
    `PREPARE ${name} AS`,
    `${unindented(text)};\n`,
  ].join('\n');
}

function unindented(text: string): string {
  const lines = text
    .replace(/^\s*\n/, '')
    .trimEnd()
    .split('\n');
  const indents = lines.filter((line) => line.trim()).map((line) => /^ */.exec(line)![0].length);
  const least = Math.min(...indents);
  return lines.map((line) => line.slice(least).trimEnd()).join('\n');
}
