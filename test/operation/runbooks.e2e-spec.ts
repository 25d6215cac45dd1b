import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { useApp } from '../support/app';
import { urlAs } from '../support/database';

const RUNBOOKS = join(__dirname, '../../docs/runbooks');

/** The SQL of commands as `psql "$DATABASE_URL" -c "…"`, with the runbook. */
const commands = readdirSync(RUNBOOKS).flatMap((file) =>
  [
    ...readFileSync(join(RUNBOOKS, file), 'utf8').matchAll(/psql "\$DATABASE_URL" -c "((?:[^"\\]|\\.)*)"/g),
  ].map(([, text]) => [file, text.replaceAll('\\"', '"')] as const),
);

describe("SQL of the runbooks, by the operator's account", () => {
  let client: Client;
  // Before the app, whose database ends connections.
  afterAll(() => client.end());
  const app = useApp();
  beforeAll(async () => {
    client = new Client({ connectionString: urlAs(app.database.url, 'operator') });
    await client.connect();
  });
  const run = async (text: string): Promise<Record<string, unknown>[]> => {
    await client.query('BEGIN');
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.query('ROLLBACK');
    }
  };

  it('is there', () => expect(commands.length).toBeGreaterThan(15));

  it.each(commands)('works: %s: %s', async (_file, text) => {
    expect(await run(text)).toBeInstanceOf(Array);
  });

  it('shows the statements of other accounts, and ends them', async () => {
    const text = commands.find(([, each]) => each.includes('wait_event'))![1];
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
