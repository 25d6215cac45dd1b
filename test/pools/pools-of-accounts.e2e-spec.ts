import { CONTRACTS, type SignedIn, TEN, until, useApp } from '../support/app';
import { differences } from '../support/recount';

const app = useApp();
let user: SignedIn;

beforeAll(async () => {
  await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, pools_by)
    VALUES ('individual', '${CONTRACTS.individual}', 0, 0, 'account'), ('cooperative', '${CONTRACTS.cooperative}', 0, 0, 'number')`);
  await app.sql(`INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, state, beat_at, progress_at)
    VALUES (31337, '0x', 0, '0x', now(), 0, 'synced', 'infinity', 'infinity')`);
});
beforeEach(async () => {
  user = await app.signIn();
});
afterEach(async () => expect(await differences(app)).toEqual([]));

const create = (key?: string, as = user, type = 'individual') =>
  app.post('/pools', { type, initialDeposit: TEN }, as, key ? { 'idempotency-key': key } : {});
const answers = async (...requests: ReturnType<typeof create>[]): Promise<unknown[]> =>
  (await Promise.all(requests)).map(({ status, body }) => (body.code as string | undefined) ?? status).sort();
const made = async (): Promise<string[]> =>
  (await app.sql<{ id: string }>('SELECT id FROM pools WHERE owner_id = $1', [user.user.id])).map(
    ({ id }) => id,
  );

describe('a contract that knows pools by account', () => {
  it('takes one pool of each, and says so', async () => {
    expect((await create()).status).toBe(201);
    const { status, body } = await create();
    expect([status, body]).toEqual([
      409,
      expect.objectContaining({
        success: false,
        error: 'The pool already exists',
        code: 'pool_exists',
      }),
    ]);
    expect((await create(undefined, await app.signIn())).status).toBe(201);
    // Other contracts know pools in another way.
    for (const type of ['cooperative', 'cooperative', 'lottery', 'lottery'])
      expect((await create(undefined, user, type)).status).toBe(201);
  });

  it('takes one of several that come at once', async () => {
    const other = await app.signIn();
    const requests = [...Array.from({ length: 6 }, () => create()), create(undefined, other)];
    expect(await answers(...requests)).toEqual([201, 201, ...Array<string>(5).fill('pool_exists')]);
    expect(await made()).toHaveLength(1);
  });

  it.each(['COMMIT', 'ROLLBACK'])('waits for another process that is making one: %s', async (end) => {
    const client = await app.connect();
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO new_pools VALUES (ARRAY[gen_random_uuid()], ARRAY['individual'], ARRAY[$1::uuid], ARRAY[$2], ARRAY[false],
         ARRAY['{}'], ARRAY[now()], ARRAY[$3], ARRAY[gen_random_uuid()], ARRAY[7])`,
      [user.user.id, CONTRACTS.individual, user.address],
    );
    const answer = create();
    await until(
      async () =>
        (await app.sql(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).length > 0,
    );
    await client.query(end);
    expect((await answer).status).toBe(end === 'COMMIT' ? 409 : 201);
    expect(await made()).toHaveLength(1);
  });

  it('gives the first answer again to its key, and refuses another', async () => {
    expect(await answers(create('one'), create('two'))).toEqual([201, 'pool_exists']);
    const [one, two] = [await create('one'), await create('two')];
    expect([one.status, two.status].sort()).toEqual([201, 409]);
    const [first] = await made();
    expect((one.status === 201 ? one : two).body.data.id).toBe(first);
    // Nothing is kept of the refused one.
    const keys = await app.sql('SELECT FROM idempotency_keys WHERE user_id = $1', [user.user.id]);
    expect(keys).toHaveLength(1);

    await app.send({ method: 'DELETE', url: `/pools/${first}`, as: user });
    expect((await create(one.status === 201 ? 'two' : 'one')).status).toBe(201);
    expect(await made()).toHaveLength(1);
  });
});
