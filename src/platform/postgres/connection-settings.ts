import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { COMMAND_CONNECT_MS } from './budget';
import { isUnavailable } from './unavailable';

/** By name, as `pg_settings` shows them: times in ms without a unit. */
export type ConnectionSettings = Readonly<Record<string, string>>;

/** For the start packet of a connection. */
export const startOptions = (settings: ConnectionSettings): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');

interface Queryable {
  query<Row>(text: string, values: unknown[]): Promise<{ rows: Row[] }>;
}

/**
 * Checks that the server took the settings of the start packet. A pooler may have dropped them, and so may other
 * `options` in the URL.
 * @throws Error that names those which differ, and what to do
 */
export async function checkSettings(client: Queryable, wanted: ConnectionSettings): Promise<void> {
  const { rows } = await client.query<{ name: string; setting: string; role: string }>(
    'SELECT name, setting, current_user AS role FROM pg_settings WHERE name = ANY($1)',
    [Object.keys(wanted)],
  );
  const wrong = rows.filter(({ name, setting }) => setting !== wanted[name]);
  if (wrong.length === 0) return;
  const found = wrong.map(({ name, setting }) => `${name} is ${setting}, not ${wanted[name]}`).join('; ');
  const remedy = wrong
    .map(({ name, role }) => `ALTER ROLE "${role}" SET ${name} = '${wanted[name]}';`)
    .join(' ');
  throw new Error(
    `The database connection lacks settings that the service sends in "options": ${found}. ` +
      `If a pooler ignores them, set them for the role: ${remedy}`,
  );
}

/** Works with a connection of its own. @throws what `pg` throws, which says the cause */
export async function withClient<Result>(
  config: ClientConfig,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionTimeoutMillis: COMMAND_CONNECT_MS, ...config });
  // Without a listener, losing an idle connection would end the process. The next query fails anyway.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Times that a start asks a database that does not answer. */
const TRIES = 10;
const WAIT_MS = 1000;

/** Repeats the work while the database is unavailable, or too slow. @throws its last error */
export async function onceAvailable(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || tries === TRIES) throw error;
      await delay(WAIT_MS);
    }
  }
}
