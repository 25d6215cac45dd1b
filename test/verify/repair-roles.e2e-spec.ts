import { randomBytes } from 'node:crypto';
import { type Client } from 'pg';
import { repairing } from '#verify/checks/connection';
import type { Role } from '#dev/settings';
import { type SignedIn, TestApp } from '../support/app';
import { urlAs, connectTo } from '../support/database';
import { REPAIRING } from '../support/ledger';
import { differences } from '../support/recount';

const app = new TestApp();
let user: SignedIn;

/** May write every row, as an account that was made by hand may. Names of roles are those of the whole server. */
const SERVICE = `service_${randomBytes(4).toString('hex')}`;
const password = randomBytes(8).toString('hex');

beforeAll(async () => {
  await app.start();
  user = await app.signIn();
  await app.createPool(user);
  await app.sql(`CREATE ROLE ${SERVICE} LOGIN PASSWORD '${password}';
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${SERVICE}`);
});
afterAll(async () => {
  await app.sql(`DROP OWNED BY ${SERVICE}; DROP ROLE ${SERVICE}`);
  await app.stop();
});
afterEach(async () => expect(await differences(app)).toEqual([]));

/** Runs on a connection of the role's own. */
async function as<T>(role: Role | 'service', work: (client: Client) => Promise<T>): Promise<T> {
  const url = new URL(role === 'service' ? app.database.url : urlAs(app.database.url, role));
  if (role === 'service') [url.username, url.password] = [SERVICE, password];
  const client = await connectTo(url.href);
  return work(client).finally(() => client.end());
}
const run = (role: Role | 'service', ...texts: string[]): Promise<unknown> =>
  as(role, async (client) => {
    for (const text of texts) await client.query(text);
  });

// Each changes nothing, but is refused or allowed like a change.
const REPAIRS = [
  'UPDATE pools SET balance = balance',
  'UPDATE account_days SET deposited = deposited',
  'UPDATE pool_totals SET pools = pools',
  'UPDATE transactions SET owner_id = owner_id',
];

it.each(REPAIRS)('the owner of the tables, and an operator, may repair: %s', async (text) => {
  await run('owner', `${REPAIRING}; ${text}`);
  await run('operator', `${REPAIRING}; ${text}`);
});

it.each(REPAIRS)('any other role may set what it likes, and may not repair: %s', async (text) => {
  await expect(run('service', `${REPAIRING}; ${text}`)).rejects.toMatchObject({ code: '42501' });
  await expect(run('service', `SET savings.repair = 'on'`, text)).rejects.toMatchObject({ code: '23001' });
  await expect(run('service', text)).rejects.toMatchObject({ code: '23001' });
});

it.each([
  ['nothing is set', []],
  ['it is on, as before', [`SET savings.repair = 'on'`]],
  ['it is left from another transaction', [REPAIRING.replace('true', 'false')]],
  ['it is empty', [`SET savings.repair = ''`]],
])('the owner himself may not while %s', async (_, before) => {
  for (const text of REPAIRS)
    await expect(run('owner', ...before, text)).rejects.toMatchObject({ code: '23001' });
});

it('verify --repair says so, and leaves the connection as it was', async () => {
  await as('service', async (client) => {
    await expect(repairing(client, () => client.query(REPAIRS[0]))).rejects.toThrow(
      'only the owner of pools and operators may repair it',
    );
    await expect(client.query(REPAIRS[0])).rejects.toMatchObject({ code: '23001' });
  });
  await as('owner', (client) => repairing(client, () => client.query(REPAIRS[0])));
});
