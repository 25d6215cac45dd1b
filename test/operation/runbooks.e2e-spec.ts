import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { createLogger } from '#platform/log/logger';
import { useApp } from '../support/app';
import { urlAs } from '../support/database';

const RUNBOOKS = readFileSync(join(__dirname, '../../docs/runbooks.md'), 'utf8');

/** What the runbooks say where the pattern matches: its group. */
const inRunbooks = (pattern: RegExp): string[] => [...RUNBOOKS.matchAll(pattern)].map(([, text]) => text);

/** The SQL of commands as `psql "$DATABASE_URL" -c "…"`. */
const commands = [...new Set(inRunbooks(/psql "\$DATABASE_URL" -c "((?:[^"\\]|\\.)*)"/g))].map((text) =>
  text.replaceAll('\\"', '"'),
);

describe("SQL of the runbooks, by the operator's account", () => {
  const app = useApp();
  let client: Client;
  beforeEach(async () => {
    client = await app.connect({ connectionString: urlAs(app.database.url, 'operator') });
  });
  const run = async (text: string): Promise<Record<string, unknown>[]> => {
    await client.query('BEGIN');
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.query('ROLLBACK');
    }
  };

  it('is there', () => expect(commands.length).toBeGreaterThan(10));

  it.each(commands)('works: %s', async (text) => {
    expect(await run(text)).toBeInstanceOf(Array);
  });

  it('shows the statements of other accounts, and ends them', async () => {
    const text = commands.find((each) => each.includes('wait_event'))!;
    const other = new Client({ connectionString: urlAs(app.database.url, 'api') });
    const ended = new Promise((resolve) => other.on('error', resolve));
    await other.connect();
    await other.query('BEGIN');
    const [{ pid }] = (await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
    expect(await run(text)).toContainEqual(
      expect.objectContaining({ pid, state: 'idle in transaction', left: 'SELECT pg_backend_pid() AS pid' }),
    );
    expect(await run(`SELECT pg_terminate_backend(${pid}) AS done`)).toEqual([{ done: true }]);
    await ended;
  });
});

describe('what the runbooks look for in logs', () => {
  const lines: string[] = [];
  const logger = createLogger('trace', true, { write: (line) => lines.push(line) });
  for (const level of ['info', 'warn', 'error', 'fatal'] as const) logger[level](level);
  const [info, ...worse] = lines;
  const patterns = [...new Set(inRunbooks(/grep -E '([^']*)'/g))];

  it('is there', () => expect(patterns.length).toBeGreaterThan(0));

  it.each(patterns)('by level is written so: %s', (pattern) => {
    expect(worse.filter((line) => !new RegExp(pattern).test(line))).toEqual([]);
    expect(info).not.toMatch(new RegExp(pattern));
  });

  it('by time stands where they sort by it', () => {
    for (const line of lines) expect(Date.parse(`[pod/api/api] ${line}`.split('"')[7])).not.toBeNaN();
    const sorts = inRunbooks(/\| (sort [^|]*) \|/g);
    expect([...new Set(sorts)]).toEqual([`sort -t'"' -k8,8`]);
  });
});
