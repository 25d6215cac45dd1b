import type { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { Migrator } from '#platform/migrating/migrator';
import { ExpiredRows } from '#platform/database/expired-rows';
import { privileges } from '#platform/migrating/schema';
import { READABLE } from '#ledger/outbox/outbox.sql';
import type { Role } from '#dev/settings';
import { type SignedIn, TEN, until, useApp } from '../support/app';
import { migrationSource, query, urlAs } from '../support/database';

// That each part can do its work is shown by all other tests: they give API, indexer, verification and replay their
// accounts. Here is what they cannot do.
const app = useApp();
let user: SignedIn;
beforeAll(async () => {
  user = await app.signIn();
  await app.createPool(user);
});

const REFUSED = { code: '42501' };
const ROLES: Role[] = ['api', 'indexer', 'operator', 'read_only'];
const run = (role: Role, text: string): Promise<unknown> => query(urlAs(app.database.url, role), text);

describe('no role but the owner may change a definition', () => {
  it.each(
    ROLES.flatMap((role) =>
      [
        'CREATE TABLE mine ()',
        'ALTER TABLE pools ADD COLUMN mine text',
        'ALTER TABLE pools DISABLE TRIGGER pools_derived',
        'DROP TABLE nonces',
        'CREATE INDEX ON pools (type)',
        'CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$',
        'CREATE TRIGGER mine AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION pools_changed()',
        'CREATE SCHEMA mine',
        "SET session_replication_role = 'replica'",
        'GRANT SELECT ON nonces TO savings_read_only; SET ROLE savings',
        "INSERT INTO migrations (timestamp, name) VALUES (1, 'mine')",
        "INSERT INTO required_migrations VALUES ('mine')",
        'SELECT after_restore()',
      ].map((text) => [role, text] as const),
    ),
  )('%s: %s', (role, text) => expect(run(role, text)).rejects.toMatchObject(REFUSED));
});

/** Statements that would change nothing, or nothing that is there, if they were allowed. */
const changing = (table: string, column: string): string[] => [
  `INSERT INTO ${table} SELECT * FROM ${table} WHERE false`,
  `UPDATE ${table} SET ${column} = ${column} WHERE false`,
  `DELETE FROM ${table} WHERE false`,
];
const CHAIN = [
  ...changing('chain_cursor', 'state'),
  ...changing('chain_events', 'outcome'),
  ...changing('yield_accruals', 'amount'),
  ...changing('positions', 'balance'),
  ...changing('lottery_draws', 'prize'),
  ...changing('circles', 'state'),
];
const TOTALS = [
  ...changing('pool_totals', 'pools'),
  ...changing('owner_totals', 'pools'),
  ...changing('account_days', 'pending'),
  ...changing('member_counts', 'count'),
];
const EVENTS = [
  'INSERT INTO outbox (count, items) VALUES (1, $$[]$$)',
  'INSERT INTO outbox_staged SELECT * FROM outbox_staged',
];
const USERS = [...changing('users', 'session_generation'), ...changing('session_endings', 'user_id')];
const SECRETS = ['nonces', 'idempotency_keys', 'event_tickets', 'webhooks'];

const CASES: Record<Exclude<Role, 'owner' | 'operator'>, string[]> = {
  api: [
    ...CHAIN,
    ...TOTALS,
    ...EVENTS,
    'INSERT INTO transactions SELECT * FROM transactions WHERE false',
    "UPDATE transactions SET status = 'CONFIRMED' WHERE false",
    'DELETE FROM transactions WHERE false',
    'INSERT INTO pools SELECT * FROM pools WHERE false',
    'UPDATE pools SET balance = balance WHERE false',
    'DELETE FROM pools WHERE false',
    'DELETE FROM users WHERE false',
    'TRUNCATE nonces',
    "SELECT restore_pools('{}', '{}')",
    'CREATE TEMPORARY TABLE mine ()',
  ],
  indexer: [
    ...USERS,
    ...TOTALS,
    ...EVENTS,
    ...SECRETS.map((table) => `SELECT FROM ${table}`),
    'UPDATE pools SET balance = balance WHERE false',
    'DELETE FROM pool_members WHERE false',
    "SELECT cancel_pool('00000000-0000-0000-0000-000000000000', '')",
  ],
  read_only: [
    ...CHAIN,
    ...TOTALS,
    ...EVENTS,
    ...USERS,
    ...changing('transactions', 'amount'),
    ...SECRETS.map((table) => `SELECT FROM ${table}`),
    'SELECT FROM transactions FOR UPDATE',
    "SELECT cancel_pool('00000000-0000-0000-0000-000000000000', '')",
    'CREATE TEMPORARY TABLE mine ()',
  ],
};
describe.each(Object.entries(CASES))('%s may not', (role, texts) => {
  it.each(texts)('%s', (text) => expect(run(role as Role, text)).rejects.toMatchObject(REFUSED));
});

it('the column by which API and indexer lock rows is refused to both', async () => {
  for (const role of ['api', 'indexer'] as const)
    await expect(run(role, 'UPDATE pools SET created_at = now()')).rejects.toMatchObject({
      code: role === 'api' ? '42501' : '23001',
    });
  await expect(run('api', 'UPDATE transactions SET created_at = now()')).rejects.toMatchObject({
    code: '23001',
  });
});

it('read-only sees what there is', async () => {
  expect(
    await run('read_only', 'SELECT p.type FROM pools p JOIN transactions t ON t.pool_id = p.id'),
  ).toHaveLength(1);
});

describe('read-only blocks no other session', () => {
  const LOCKS = ['followed contracts', 'pool totals'].map(
    (name) => `SELECT pg_advisory_lock(hashtextextended('${name}', n)) FROM generate_series(0, 31) n`,
  );
  const HOLDING = [
    'SELECT pg_current_xact_id()',
    'SELECT txid_current()',
    'SELECT lo_create(0)',
    `SELECT pg_logical_emit_message(true, 'mine', '')`,
    `ALTER ROLE CURRENT_USER SET work_mem = '5MB'`,
    'ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO savings_api',
    ...LOCKS,
  ];
  const reader = async (): Promise<Client> => {
    const client = await app.connect({ connectionString: urlAs(app.database.url, 'read_only') });
    client.on('error', () => undefined);
    return client;
  };
  const isLast = async (): Promise<boolean> =>
    (await app.sql(`SELECT FROM outbox o WHERE NOT ${READABLE}`)).length === 0;

  it.each(HOLDING)('its session ends after this in a transaction: %s', async (text) => {
    const [holding, reading] = [await reader(), await reader()];
    await holding.query('BEGIN');
    await holding.query(text);
    await reading.query('BEGIN; SELECT FROM pools');
    await until(async () => {
      await app.nest.get(ExpiredRows).sweep();
      return holding.query('SELECT').then(
        () => false,
        () => true,
      );
    });
    await app.createPool(user);
    await until(isLast);
    await reading.query('SELECT FROM pools');
  });

  it('its session ends too if it waits for such a lock, behind which others wait', async () => {
    const [owner, waiting] = [await app.connect(), await reader()];
    await owner.query('SELECT pg_advisory_lock(1)');
    let isOver = false;
    void waiting.query('SELECT pg_advisory_lock(1)').catch(() => (isOver = true));
    await until(async () => (await app.nest.get(ExpiredRows).sweep(), isOver));
  });

  it('can take no lock once a superuser has granted the rights, while the other roles can', async () => {
    await app.sql(privileges());
    for (const text of [
      ...LOCKS,
      'SELECT pg_try_advisory_xact_lock_shared(1)',
      'SELECT pg_advisory_unlock_all()',
    ])
      await expect(run('read_only', text)).rejects.toMatchObject(REFUSED);
    for (const role of ['owner', 'api', 'indexer', 'operator'] as const)
      await run(role, 'SELECT pg_try_advisory_lock(1), pg_advisory_xact_lock_shared(2)');
    await app.createPool(user);
    expect(
      (
        await app.post('/pools', { type: 'cooperative', initialDeposit: TEN }, user, {
          'idempotency-key': 'k',
        })
      ).status,
    ).toBe(201);
    // The rights are unchanged if the owner grants them again.
    await query(urlAs(app.database.url, 'owner'), privileges());
    await expect(run('read_only', LOCKS[0])).rejects.toMatchObject(REFUSED);
  });

  it('has few connections', async () => {
    const open: Client[] = [];
    for (let n = 0; n < 10; n++) open.push(await reader());
    await expect(reader()).rejects.toMatchObject({ code: '53300' });
    expect((await open[0].query('SHOW idle_in_transaction_session_timeout')).rows).toEqual([
      { idle_in_transaction_session_timeout: '1min' },
    ]);
  });
});

describe('functions', () => {
  it('that run as their owner have a fixed search_path, and nobody may put them on a table of his own', async () => {
    const rows = await app.sql<{ name: string; settings: string[]; isPublic: boolean }>(`
      SELECT proname AS name, proconfig AS settings, has_function_privilege('savings_read_only', oid, 'EXECUTE') AS "isPublic"
      FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef`);
    expect(rows.length).toBeGreaterThan(15);
    for (const row of rows)
      expect(row).toMatchObject({
        settings: expect.arrayContaining(['search_path=public, pg_temp']),
        isPublic: false,
      });
  });

  it('of triggers that write run as their owner', async () => {
    expect(
      await app.sql(`
        SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prorettype = 'trigger'::regtype
          AND NOT prosecdef AND prosrc ~ '(INSERT INTO|UPDATE \\w+ SET|DELETE FROM)'`),
    ).toEqual([]);
  });

  it('write to our tables, whatever the caller calls his own', async () => {
    const client = await app.connect({ connectionString: urlAs(app.database.url, 'operator') });
    await client.query(`CREATE TEMPORARY TABLE owner_totals (LIKE public.owner_totals INCLUDING ALL);
      CREATE TEMPORARY TABLE added (id uuid, owner_id uuid, created_at timestamptz)`);
    await expect(
      client.query(`CREATE TRIGGER mine AFTER INSERT ON added
        FOR EACH ROW EXECUTE FUNCTION public.pools_changed()`),
    ).rejects.toMatchObject(REFUSED);
    await client.query(`SET search_path = pg_temp, public;
      INSERT INTO public.pools (id, type, owner_id, contract_address, created_at, last_update)
      SELECT gen_random_uuid(), 'lottery', owner_id, contract_address, now(), now() FROM public.pools LIMIT 1`);
    expect((await client.query('SELECT FROM pg_temp.owner_totals')).rowCount).toBe(0);
    expect(await app.sql(`SELECT pools FROM owner_totals WHERE type = 'lottery'`)).toEqual([{ pools: 1 }]);
  });
});

/** Runs a migration as the owner, and undoes it after the work. */
async function migrated(up: string, down: string, work: () => Promise<void>): Promise<void> {
  const source = await migrationSource(urlAs(app.database.url, 'owner'));
  // Tests copy a database, which makes them its owner: in production the owner has the schema.
  await app.sql('GRANT CREATE ON SCHEMA public TO savings');
  const migration: MigrationInterface = {
    name: 'Anew1800000000000',
    up: (runner: QueryRunner) => runner.query(up),
    down: (runner: QueryRunner) => runner.query(down),
  };
  source.migrations.splice(0, source.migrations.length, migration);
  try {
    await new Migrator(source, () => undefined).run();
    await work();
    await new Migrator(source, () => undefined).revert();
  } finally {
    await source.destroy();
  }
}

describe('a table', () => {
  it('of the ledger that a migration makes again is never there without its rights', async () => {
    await migrated(
      'ALTER TABLE nonces RENAME TO former_nonces; CREATE TABLE nonces (LIKE former_nonces INCLUDING ALL)',
      'DROP TABLE nonces; ALTER TABLE former_nonces RENAME TO nonces',
      async () => {
        expect((await app.get('/auth/nonce')).status).toBe(200);
        await expect(run('indexer', 'SELECT FROM nonces')).rejects.toMatchObject(REFUSED);
      },
    );
    expect((await app.get('/auth/nonce')).status).toBe(200);
  });

  it('of a module is for the API to write and for operators to read, without a row in privileges.sql', () =>
    migrated(
      `CREATE TABLE "module_texts" (id serial PRIMARY KEY, text text);
       CREATE TABLE parts (at int) PARTITION BY RANGE (at); CREATE TABLE first_part PARTITION OF parts DEFAULT;
       CREATE VIEW module_view AS SELECT text FROM module_texts; GRANT SELECT ON module_view TO savings_read_only`,
      'DROP VIEW module_view; DROP TABLE module_texts, parts',
      async () => {
        await run(
          'api',
          `INSERT INTO module_texts (text) VALUES ('a'); UPDATE module_texts SET text = 'b'; INSERT INTO parts VALUES (1)`,
        );
        for (const role of ['api', 'operator'] as const)
          expect(await run(role, 'SELECT text FROM module_texts, parts')).toEqual([{ text: 'b' }]);
        for (const text of [...changing('module_texts', 'text'), 'TRUNCATE module_texts'])
          await expect(run('operator', text)).rejects.toMatchObject(REFUSED);
        for (const role of ['indexer', 'read_only'] as const)
          await expect(run(role, 'SELECT FROM module_texts')).rejects.toMatchObject(REFUSED);
        await expect(run('api', 'DELETE FROM module_view')).rejects.toMatchObject(REFUSED);
        // What its migration grants stays after the next one.
        await query(urlAs(app.database.url, 'owner'), privileges());
        expect(await run('read_only', 'SELECT FROM module_view')).toHaveLength(1);
        await run('api', 'DELETE FROM module_texts');
      },
    ));

  it('of the ledger opens no way beside it: no partition, no view, no sequence', () =>
    migrated(
      `CREATE TABLE rows (LIKE nonces) PARTITION BY HASH (nonce); ALTER TABLE nonces RENAME TO former_nonces;
       ALTER TABLE rows RENAME TO nonces; CREATE TABLE part PARTITION OF nonces FOR VALUES WITH (MODULUS 1, REMAINDER 0);
       CREATE VIEW all_pools AS SELECT * FROM pools`,
      'DROP VIEW all_pools; DROP TABLE nonces; ALTER TABLE former_nonces RENAME TO nonces',
      async () => {
        for (const text of [
          'SELECT FROM part',
          'UPDATE all_pools SET balance = 0',
          `SELECT nextval('outbox_position_seq')`,
        ])
          await expect(run('api', text)).rejects.toMatchObject(REFUSED);
      },
    ));

  it('has grants of columns as soon as these exist, and others before', async () => {
    const owner = urlAs(app.database.url, 'owner');
    const text = privileges().replace('(auto_compound, ', '(auto_compound, motto, ');
    expect(text).not.toBe(privileges());
    await query(owner, text);
    await run('api', 'UPDATE pools SET auto_compound = false, last_update = now() WHERE false');
    await app.sql('ALTER TABLE pools ADD COLUMN motto text');
    try {
      await expect(run('api', `UPDATE pools SET motto = '' WHERE false`)).rejects.toMatchObject(REFUSED);
      await query(owner, text);
      await run('api', `UPDATE pools SET motto = '' WHERE false`);
    } finally {
      await app.sql('ALTER TABLE pools DROP COLUMN motto');
    }
  });
});
