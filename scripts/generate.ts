import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Migrator, migrationSource } from '#platform/migrating/migrator';
import { startPostgres } from '#dev/postgres';
import { errorTable, eventExamples } from './generated/codes';
import { endpointTables } from './generated/endpoints';
import { figures } from './generated/figures';
import { between } from './generated/markdown';
import { queries } from './generated/queries';
import { type Ask, schemaMap } from './generated/schema';
import { envExample, settingTables } from './generated/settings';

const ROOT = path.join(__dirname, '..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** Every file that is generated but openapi.json and what follows from it in the client, by its path. */
export async function generated(ask: Ask): Promise<Map<string, string>> {
  const inDocument = (file: string, name: string, text: string): [string, string] => [
    file,
    between(name, read(file), text),
  ];
  const codes = between('events', between('errors', read('docs/codes.md'), errorTable()), eventExamples());
  return new Map([
    ['.env.example', envExample()],
    ['bench/RESULTS.md', figures()],
    ['docs/codes.md', codes],
    inDocument('docs/configuration.md', 'settings', settingTables()),
    inDocument('docs/endpoints.md', 'endpoints', await endpointTables()),
    inDocument('docs/ledger.md', 'schema', await schemaMap(ask)),
    ...(await queries()),
  ]);
}

/** Files of `queries/` that are there, by their paths. */
export const queryFiles = (): string[] =>
  readdirSync(path.join(ROOT, 'queries')).map((name) => `queries/${name}`);

async function main(): Promise<void> {
  const server = await startPostgres({ dir: tmpdir(), database: 'generate', ephemeral: true });
  const source = await migrationSource(server.url).initialize();
  try {
    await new Migrator(source, () => undefined).run();
    const files = await generated((text) => source.query(text));
    mkdirSync(path.join(ROOT, 'queries'), { recursive: true });
    for (const file of queryFiles()) if (!files.has(file)) rmSync(path.join(ROOT, file));
    for (const [file, text] of files) writeFileSync(path.join(ROOT, file), text);
  } finally {
    await source.destroy();
    await server.stop();
  }
}

if (require.main === module) void main();
