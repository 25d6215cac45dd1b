import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { generated, queryFiles } from '../../scripts/generate';
import { factsOf, groups } from '../../scripts/generated/settings';
import { Setting } from '#platform/config/settings';
import { SETTINGS } from '#settings/environment';
import { IsInt, IsString, Max, Min } from 'class-validator';
import { Client } from 'pg';
import { type TestDatabase, freshDatabase } from '../support/database';

const ROOT = path.join(__dirname, '../..');

let database: TestDatabase;
let client: Client;
let files: Map<string, string>;

beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  files = await generated((text) => client.query(text).then(({ rows }) => rows as never));
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

it('what is generated is as `npm run generate` writes it', () => {
  expect(files.size).toBeGreaterThan(15);
  const stale = [...files].filter(([file, text]) => readFileSync(path.join(ROOT, file), 'utf8') !== text);
  expect(stale.map(([file]) => file)).toEqual([]);
  expect(queryFiles().filter((file) => !files.has(file))).toEqual([]);
});

it('each endpoint has its statements beside it', () => {
  const lines = files.get('docs/endpoints.md')!.split('\n');
  const statementsOf = (endpoint: string): string =>
    lines
      .find((line) => line.startsWith(`| \`${endpoint}\``))!
      .split(' | ')
      .at(-1)!;
  expect(statementsOf('GET /pools')).toBe('`list_pools` |');
  expect(statementsOf('GET /users/me/start')).toBe('`start` |');
  expect(statementsOf('POST /auth/verify')).toBe('`find_nonce`, `sign_in` |');
});

it('every table that the service begins with says what it is for', () => {
  const folder = path.join(ROOT, 'migrations/1767225600000-baseline');
  const texts = readdirSync(folder).map((file) => readFileSync(path.join(folder, file), 'utf8'));
  const named = (pattern: RegExp): string[] =>
    texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name)).sort();
  expect(named(/^COMMENT ON TABLE (\w+)/gm)).toEqual(named(/^CREATE (?:UNLOGGED )?TABLE (\w+)/gm));
});

it('every setting is described once', () => {
  const names = groups().flatMap(({ settings }) => settings.map(({ name }) => name));
  expect(names.sort()).toEqual(SETTINGS);
});

it('PostgreSQL takes every query as it is printed, and each has another name', async () => {
  for (const [file, text] of files) if (file.startsWith('queries/')) await client.query(text);
  const { rows } = await client.query<{ count: number }>('SELECT count(*)::int FROM pg_prepared_statements');
  expect(rows[0].count).toBeGreaterThan(70);
});

describe('a setting', () => {
  class Described {
    static readonly title = 'T';
    @Setting('Says its bounds.', { readBy: 'all' }) @IsInt() @Min(2) @Max(9) BOUNDED = 3;
  }
  it('has the form that its rules tell', () =>
    expect(factsOf(Described)).toEqual([
      { name: 'BOUNDED', about: 'Says its bounds.', readBy: 'all', form: '2 to 9' },
    ]));

  it('without a description, or whose form nobody tells, stops the generation', () => {
    class Silent {
      @IsInt() SILENT = 1;
    }
    class Formless {
      @Setting('Any text.', { readBy: 'all' }) @IsString() FORMLESS = '';
    }
    expect(() => factsOf(Silent)).toThrow('Silent.SILENT has no @Setting');
    expect(() => factsOf(Formless)).toThrow('Formless.FORMLESS');
    expect(() => groups([Formless])).toThrow('title');
  });
});
