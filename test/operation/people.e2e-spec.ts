import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JwtService } from '@nestjs/jwt';
import { ExpiredRows } from '#platform/database/expired-rows';
import { CONTRACTS, JWT_SECRET, type SignedIn, type TestApp, until, useApp } from '../support/app';
import { type Fate, KEPT } from './kept';
import { newHash, LOCK_WAITS } from '../support/ledger';
import { differences } from '../support/recount';
import { newWallet } from '../support/wallet';

interface Row {
  kind: string;
  data: Record<string, unknown>;
}
const app: TestApp = useApp();
afterEach(async () => expect(await differences(app)).toEqual([]));

async function exported(user: SignedIn, limit = 500): Promise<Row[]> {
  const rows: Row[] = [];
  for (let next: string | null = ''; next !== null;) {
    const after: string = next && `&after=${next}`;
    const { status, body } = await app.get(`/users/me/export?limit=${limit}${after}`, user);
    expect(status).toBe(200);
    expect(body.data.length).toBeLessThanOrEqual(limit);
    rows.push(...(body.data as Row[]));
    ({ next } = body as { next: string | null });
  }
  return rows;
}
const remove = (user: SignedIn) => app.send({ method: 'DELETE', url: '/users/me', as: user });
/** Blocks the work until the returned function is called, which lets all of it run. */
function held(): () => Promise<void> {
  const sweeps = jest.spyOn(app.nest.get(ExpiredRows), 'sweep').mockResolvedValue(0);
  return async () => {
    sweeps.mockRestore();
    await completed();
  };
}
const sweep = () => app.nest.get(ExpiredRows).sweep();
const completed = () =>
  until(async () => (await sweep(), (await app.sql('SELECT FROM account_deletions')).length === 0));

/** Every column of the database that holds the text, whatever its type. */
async function holding(text: string): Promise<string[]> {
  const columns = await app.sql<{ table: string; column: string }>(`
    SELECT table_name AS table, column_name AS column FROM information_schema.columns
    JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1, 2`);
  const found: string[] = [];
  for (const { table, column } of columns)
    if (
      (await app.sql(`SELECT FROM ${table} WHERE ${column}::text LIKE $1 LIMIT 1`, [`%${text}%`])).length > 0
    )
      found.push(`${table}.${column}`);
  return found;
}
const fateOf = (place: string): Fate | undefined => {
  const [table, column] = place.split('.');
  return KEPT[table]?.[column];
};

/** Somebody with something of everything that the API makes. */
async function somebody() {
  const other = await app.signIn();
  const user = await app.signIn();
  const paid = await app.createPool(user, { type: 'cooperative', members: [other.address] });
  await app.sql(
    `UPDATE transactions SET status = 'CONFIRMED', tx_hash = $2, block_number = 1, log_index = 0, confirmed_at = now()
     WHERE id = $1`,
    [paid.depositId, newHash()],
  );
  const unpaid = await app.createPool(user, { type: 'cooperative', members: [newWallet().address] });
  const cancelled = await app.createPool(user);
  await app.send({ method: 'DELETE', url: `/pools/${cancelled.id}`, as: user });
  await app.post('/pools', { type: 'individual', initialDeposit: '10000000000000000000' }, user, {
    'idempotency-key': '~'.repeat(255),
  });
  const invited = await app.createPool(other, { type: 'cooperative', members: [user.address] });
  const gone = await app.createPool(other, { type: 'cooperative', members: [user.address] });
  await app.send({ method: 'DELETE', url: `/pools/${gone.id}`, as: other });
  await app.post('/webhooks', { url: 'https://example.org/hook' }, user);
  await app.post('/events/ticket', {}, user);
  return { user, other, paid, unpaid, cancelled, invited, gone };
}

describe('what is kept of people', () => {
  it('is named, column by column', async () => {
    const columns = await app.sql<{ table: string; column: string; may: boolean }>(`
      SELECT table_name AS table, column_name AS column,
        domain_name = 'address' OR data_type IN ('json', 'jsonb')
          OR column_name ~ 'address|account|owner|user_id|member|winner|organiser|sender|person|payer|holder|recipient'
          AND table_name || '.' || column_name <> 'users.id' AS may
      FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`);
    const all = new Set(columns.map(({ table, column }) => `${table}.${column}`));
    const named = Object.entries(KEPT).flatMap(([table, of]) =>
      Object.keys(of).map((each) => `${table}.${each}`),
    );
    expect(named.filter((each) => !all.has(each))).toEqual([]);
    // They go with the account, as a module's rows do.
    const cascading = await app.sql<{ table: string; column: string }>(`
      SELECT conrelid::regclass::text AS table, attname AS column
      FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
      WHERE contype = 'f' AND confrelid = 'users'::regclass AND confdeltype IN ('c', 'n')`);
    const known = [...named, ...cascading.map(({ table, column }) => `${table}.${column}`)];
    const may = columns.filter((each) => each.may).map(({ table, column }) => `${table}.${column}`);
    expect(may.filter((each) => !known.includes(each))).toEqual([]);
    const page = readFileSync(join(__dirname, '../../docs/data.md'), 'utf8');
    const people = Object.entries(KEPT).filter(([, of]) =>
      Object.values(of).some((fate) => fate !== 'nobody'),
    );
    const tables = [...people.map(([table]) => table), ...cascading.map(({ table }) => table)];
    expect(tables.filter((table) => !page.includes(`\`${table}\``))).toEqual([]);
  });

  it('of a module names its user by id, and has a time, so that a deletion tells what came before it', async () => {
    const without = await app.sql(`
      SELECT conrelid::regclass AS table FROM pg_constraint
      WHERE contype = 'f' AND confrelid = 'users'::regclass AND confdeltype IN ('c', 'n') AND (
        confkey <> (SELECT conkey FROM pg_constraint WHERE conname = 'users_pkey')
        OR NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = conrelid AND attname = 'created_at'))`);
    expect(without).toEqual([]);
  });

  it('is exported whole, in pages of any size, and to nobody else', async () => {
    const { user, other, paid, unpaid, cancelled, invited, gone } = await somebody();
    const rows = await exported(user);
    const of = (kind: string) => rows.filter((row) => row.kind === kind).map(({ data }) => data);
    expect(of('account')).toEqual([expect.objectContaining({ id: user.user.id, address: user.address })]);
    expect(of('membership').map(({ poolId, role }) => [poolId, role])).toEqual(
      expect.arrayContaining([
        [paid.id, 'OWNER'],
        [unpaid.id, 'OWNER'],
        [invited.id, 'MEMBER'],
      ]),
    );
    const pools = new Map(of('membership').map(({ poolId, pool }) => [poolId, pool]));
    expect(pools.get(paid.id)).toMatchObject({ memberCount: 1, members: [other.address] });
    // Who is invited need not tell who else is.
    expect(pools.get(invited.id)).toBeNull();
    expect(of('cancelled_pool').map(({ id }) => id)).toEqual([cancelled.id]);
    expect(of('cancelled_membership').map(({ poolId }) => poolId)).toEqual([gone.id]);
    expect(of('transaction')).toContainEqual(
      expect.objectContaining({ id: paid.depositId, amount: '10000000000000000000', status: 'CONFIRMED' }),
    );
    expect(of('webhook')).toEqual([expect.objectContaining({ url: 'https://example.org/hook' })]);
    expect(of('stored_answer')).toEqual([expect.objectContaining({ key: '~'.repeat(255) })]);
    expect(JSON.stringify(rows)).not.toMatch(/whsec_|"secret/);
    expect(JSON.stringify(await exported(other))).not.toContain(unpaid.id);
    // The challenge of the webhook may go on meanwhile.
    const keys = (of: Row[]) => of.map(({ kind, data }) => [kind, data.id ?? data.poolId ?? data.key]);
    for (const limit of [1, 3]) expect(keys(await exported(user, limit))).toEqual(keys(rows));
    expect((await app.get('/users/me/export')).status).toBe(401);
    expect((await app.get('/users/me/export?after=xyz', user)).status).toBe(400);
  });
});

describe('DELETE /users/me', () => {
  it('takes a sign-in that is not older than ten minutes', async () => {
    const user = await app.signIn();
    const claims = app.nest.get(JwtService).decode<{ iat: number; exp: number }>(user.token);
    const before = { ...claims, iat: claims.iat - 601, exp: claims.exp - 601 };
    const old = new JwtService({ secret: JWT_SECRET }).sign(before);
    const refused = await app.send({ method: 'DELETE', url: '/users/me', as: { token: old } });
    expect([refused.status, refused.body.code]).toEqual([403, 'sign_in_again']);
    expect((await app.get('/users/me', user)).status).toBe(200);
    expect((await remove(user)).body.data).toEqual({ address: user.address, stays: false });
    expect((await app.get('/users/me', user)).status).toBe(401);
    await completed();
  });

  it('leaves what the chain says, and nothing else', async () => {
    const { user, other, paid, unpaid, invited } = await somebody();
    const answer = await remove(user);
    expect(answer.body.data).toEqual({ address: user.address, stays: true });
    expect((await app.get('/users/me', user)).status).toBe(401);
    await completed();
    for (const who of [user.address, user.user.id]) {
      const found = await holding(who);
      expect(found.filter((place) => fateOf(place) !== 'ledger' && fateOf(place) !== 'expires')).toEqual([]);
    }
    // The others keep what is theirs.
    expect((await app.get(`/pools/${paid.id}`, other)).status).toBe(200);
    const members = await app.sql('SELECT address FROM pool_members WHERE pool_id = $1', [invited.id]);
    expect(members).toEqual([{ address: other.address }]);

    const again = await app.signIn(user.wallet);
    expect(again.user.id).toBe(user.user.id);
    expect(again.user.createdAt > user.user.createdAt).toBe(true);
    const { body } = await app.get('/pools', again);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([paid.id]);
    expect((await app.get(`/pools/${unpaid.id}`, again)).status).toBe(404);
    expect((await app.get('/webhooks', again)).body.data).toEqual([]);
  });

  it('leaves nothing of who has no pool, and lets the address start over meanwhile', async () => {
    const other = await app.signIn();
    const user = await app.signIn();
    const invited = await app.createPool(other, { type: 'cooperative', members: [user.address] });
    const goOn = held();
    expect((await remove(user)).body.data.stays).toBe(false);
    const again = await app.signIn(user.wallet);
    const twice = await app.signIn(user.wallet);
    expect(again.user.createdAt > user.user.createdAt).toBe(true);
    expect(twice.user.createdAt).toBe(again.user.createdAt);
    const made = await app.createPool(again);
    await goOn();
    expect((await app.get('/users/me', again)).status).toBe(200);
    expect((await app.get(`/pools/${made.id}`, again)).status).toBe(200);
    expect((await app.get(`/pools/${invited.id}`, again)).status).toBe(403);
    expect((await remove(again)).body.data.stays).toBe(true);
  });

  it('takes the row of who has no pool, and comes back after it', async () => {
    const user = await app.signIn();
    const goOn = held();
    expect((await remove(user)).body.data.stays).toBe(false);
    await goOn();
    for (const who of [user.address, user.user.id]) {
      const places = await holding(who);
      expect(places.filter((place) => fateOf(place) !== 'expires')).toEqual([]);
    }
    expect((await app.signIn(user.wallet)).user.id).not.toBe(user.user.id);
  });

  it('leaves no unpaid pool whose payment was submitted, and no member of a cancelled pool that comes back', async () => {
    const [user, other] = [await app.signIn(), await app.signIn()];
    const pool = await app.createPool(user, { type: 'cooperative', members: [other.address] });
    await app.post(`/transactions/${pool.depositId}/sent`, { hash: newHash() }, user);
    const gone = await app.createPool(other, { type: 'cooperative', members: [user.address] });
    await app.send({ method: 'DELETE', url: `/pools/${gone.id}`, as: other });
    await remove(user);
    await completed();
    expect((await app.get(`/pools/${pool.id}`, other)).status).toBe(404);
    // A payment that comes all the same brings both back.
    const ids = [pool.id, gone.id];
    await app.sql('SELECT restore_pools($1::uuid[], ARRAY[NULL, NULL]::text[])', [ids]);
    expect((await app.get(`/pools/${pool.id}`, other)).status).toBe(200);
    const members = await app.sql('SELECT address FROM pool_members WHERE pool_id = $1', [gone.id]);
    expect(members).toEqual([{ address: other.address }]);
  });

  it('leaves no pool that another session makes meanwhile', async () => {
    const user = await app.signIn();
    const client = await app.connect();
    const make = `INSERT INTO new_pools VALUES (ARRAY[gen_random_uuid()], ARRAY['individual'], ARRAY[$1::uuid], ARRAY[$2], ARRAY[false],
      ARRAY['{}'], ARRAY[now() + interval '1 second'], ARRAY[$3], ARRAY[gen_random_uuid()], ARRAY[7])`;
    await client.query('BEGIN');
    // By a clock that is ahead.
    await client.query(make, [user.user.id, CONTRACTS.individual, user.address]);
    const removing = remove(user);
    const waiting = async (): Promise<boolean> => (await app.sql(LOCK_WAITS)).length > 0;
    await until(waiting);
    await client.query('COMMIT');
    expect((await removing).status).toBe(200);
    await completed();
    // The other way round: the deletion is first, and the pool waits for it.
    const second = await app.signIn();
    await client.query('BEGIN');
    await client.query('SELECT delete_account($1)', [second.address]);
    const making = app.post('/pools', { type: 'individual', initialDeposit: '10000000000000000000' }, second);
    await until(waiting);
    await client.query('COMMIT');
    expect([(await making).status, (await making).body.code]).toEqual([401, 'token_revoked']);
    await completed();
    const owners = [user.user.id, second.user.id];
    expect(await app.sql('SELECT FROM pools WHERE owner_id = ANY ($1)', [owners])).toEqual([]);
  });

  it('leaves a row that something else names, and ends', async () => {
    const user = await app.signIn();
    await app.sql(`CREATE TABLE contracts_signed (user_id uuid NOT NULL REFERENCES users);
      ALTER TABLE contracts_signed OWNER TO savings`);
    await app.sql('INSERT INTO contracts_signed VALUES ($1)', [user.user.id]);
    await remove(user);
    await completed();
    expect(await app.sql('SELECT has_left AS left FROM users WHERE id = $1', [user.user.id])).toEqual([
      { left: true },
    ]);
    await app.sql('DROP TABLE contracts_signed');
    expect((await app.signIn(user.wallet)).user.id).toBe(user.user.id);
  });

  it('goes on after a process that was killed, and holds nobody up', async () => {
    const user = await app.signIn();
    for (let i = 0; i < 45; i++) await app.createPool(user);
    const goOn = held();
    await remove(user);
    // One step, as a process does that is killed then.
    const [{ done }] = await app.sql<{ done: number }>('SELECT go_on_deleting(500, 20) AS done');
    expect(done).toBe(20);
    const left = async (): Promise<number> =>
      (await app.sql('SELECT FROM pools WHERE owner_id = $1', [user.user.id])).length;
    expect(await left()).toBe(25);
    await goOn();
    expect(await left()).toBe(0);
  });

  it('reads few of the others that wait', async () => {
    const client = await app.connect();
    await client.query('BEGIN');
    await client.query(`INSERT INTO account_deletions (address, requested_at)
      SELECT '0x' || md5(n::text) || '00000000', now() FROM generate_series(1, 1000) n`);
    for (let step = 0; step < 5; step++) await client.query('SELECT go_on_deleting(1, 1)');
    const { rows } = await client.query<{ read: number }>(
      `SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables
       WHERE relname = 'account_deletions'`,
    );
    await client.query('ROLLBACK');
    expect(rows[0].read).toBeLessThanOrEqual(5 * 10);
  });

  it('waits with a pool of which the indexer may not have seen all payments, and holds up nobody else', async () => {
    const contract = CONTRACTS.individual;
    await app.sql(
      `INSERT INTO chain_contracts (type, address, position, from_block, pools_by) VALUES ('individual', $1, 0, 0, 'account')`,
      [contract],
    );
    const user = await app.signIn();
    await app.createPool(user, { type: 'cooperative' });
    await app.createPool(user);
    await app.createPool(user, { type: 'cooperative' });
    await remove(user);
    const ofPools = 'SELECT type FROM pools WHERE owner_id = $1 ORDER BY id';
    const left = async (): Promise<string[]> =>
      (await app.sql<{ type: string }>(ofPools, [user.user.id])).map(({ type }) => type);
    await until(async () => (await sweep(), (await left()).length === 2));
    const other = await app.signIn();
    for (let i = 0; i < 45; i++) await app.createPool(other, { type: 'cooperative' });
    // One look goes over all that others have, whose turn may come before or after.
    await remove(other);
    await app.sql(`UPDATE account_deletions SET waits_until = '-infinity'`);
    // A look of the service's own may hold a row.
    const waiting = async (): Promise<unknown[]> => app.sql('SELECT address FROM account_deletions');
    await until(async () => (await sweep(), (await waiting()).length === 1));
    expect(await app.sql('SELECT FROM pools WHERE owner_id = $1', [other.user.id])).toEqual([]);
    expect(await waiting()).toEqual([{ address: user.address }]);
    expect(await left()).toEqual(['individual', 'cooperative']);
    await app.sql(`INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, state, beat_at, progress_at)
      VALUES (31337, '0x', 0, '0x', now(), 0, 'synced', 'infinity', 'infinity')`);
    await app.sql(`UPDATE account_deletions SET waits_until = '-infinity'`);
    await completed();
    expect(await left()).toEqual([]);
    for (const table of ['chain_contracts', 'chain_cursor']) await app.sql(`DELETE FROM ${table}`);
  });

  /** Adds rows of somebody, with these numbers. */
  const into = (table: string) => (who: SignedIn, from: number, to: number) =>
    app.sql(`INSERT INTO ${table} SELECT $1, n, now() FROM generate_series($2::integer, $3) n`, [
      ...[who.user.id, from, to],
    ]);

  it('has rows of modules that outlive a user name nobody, in steps, but for those from after a new sign-in', async () => {
    await app.sql(`
      CREATE TABLE reviews (
        id integer PRIMARY KEY, writer uuid REFERENCES users ON DELETE SET NULL, created_at timestamptz NOT NULL
      );
      ALTER TABLE reviews OWNER TO savings`);
    const { user, other } = await somebody();
    const fill = into('reviews (writer, id, created_at)');
    await fill(user, 1, 45);
    await fill(other, 46, 50);
    const goOn = held();
    expect((await remove(user)).body.data.stays).toBe(true);
    await fill(await app.signIn(user.wallet), 51, 52);
    await app.sql('DELETE FROM idempotency_keys WHERE user_id = $1', [user.user.id]);
    const [{ done }] = await app.sql<{ done: number }>('SELECT go_on_deleting(20, 20) AS done');
    const counts = async (): Promise<number[]> => {
      const [row] = await app.sql<Record<string, number>>(
        `SELECT count(*) FILTER (WHERE writer IS NULL)::int AS nobody, count(*) FILTER (WHERE writer = $1)::int AS own,
           count(*) FILTER (WHERE writer = $2)::int AS other FROM reviews`,
        [user.user.id, other.user.id],
      );
      return Object.values(row);
    };
    expect([done, await counts()]).toEqual([20, [20, 27, 5]]);
    await goOn();
    expect(await counts()).toEqual([45, 2, 5]);
    await app.sql('DROP TABLE reviews');
  });

  it("takes what modules keep of a user along in steps, whether or not the user's row stays", async () => {
    await app.sql(`
      CREATE TABLE shelves (
        keeper uuid NOT NULL REFERENCES users ON DELETE CASCADE, at integer NOT NULL, created_at timestamptz NOT NULL,
        PRIMARY KEY (keeper, at)
      ) PARTITION BY RANGE (at);
      CREATE TABLE shelves_low PARTITION OF shelves FOR VALUES FROM (1) TO (23);
      CREATE TABLE shelves_high PARTITION OF shelves FOR VALUES FROM (23) TO (100);
      ALTER TABLE shelves OWNER TO savings;
      ALTER TABLE shelves_low OWNER TO savings;
      ALTER TABLE shelves_high OWNER TO savings`);
    const { user, other } = await somebody();
    const without = await app.signIn();
    const fill = into('shelves');
    // Rows of both at the same places of two partitions.
    await fill(other, 1, 3);
    await fill(user, 1, 45);
    await fill(other, 23, 25);
    const goOn = held();
    expect((await remove(user)).body.data.stays).toBe(true);
    const again = await app.signIn(user.wallet);
    await fill(again, 46, 47);
    await app.sql('DELETE FROM idempotency_keys WHERE user_id = $1', [user.user.id]);
    const [{ done }] = await app.sql<{ done: number }>('SELECT go_on_deleting(20, 20) AS done');
    expect(done).toBe(20);
    const left = async (who: SignedIn): Promise<number[]> =>
      (
        await app.sql<{ at: number }>('SELECT at FROM shelves WHERE keeper = $1 ORDER BY at', [who.user.id])
      ).map(({ at }) => at);
    expect(await left(user)).toHaveLength(27);
    await goOn();
    expect([await left(user), await left(other)]).toEqual([
      [46, 47],
      [1, 2, 3, 23, 24, 25],
    ]);

    await fill(without, 1, 45);
    const goOnAgain = held();
    expect((await remove(without)).body.data.stays).toBe(false);
    expect(await left(without)).toHaveLength(45);
    await app.sql('SELECT go_on_deleting(20, 20)');
    expect(await left(without)).toHaveLength(25);
    await goOnAgain();
    expect(await left(without)).toEqual([]);
    expect(await app.sql('SELECT FROM users WHERE id = $1', [without.user.id])).toEqual([]);
    await app.sql('DROP TABLE shelves');
  });
});
