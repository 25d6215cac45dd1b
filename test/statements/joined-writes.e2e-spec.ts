import type { Socket } from 'node:net';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { POOL_TYPES } from '#values/types';
import { Database } from '#platform/database/database';
import { LIMITS } from '#platform/postgres/budget';
import { DatabasePool } from '#platform/postgres/database-pool';
import { valuesOf } from '#platform/postgres/statement';
import { OutcomeUnknown, isUnavailable } from '#platform/postgres/unavailable';
import { JoinedWrites } from '#platform/statements/joined-writes';
import { WritePool } from '#platform/statements/write-pool';
import { SIGN_IN } from '#features/access/sign-in.sql';
import { CREATE_POOLS, CREATE_POOLS_ONCE, type NewPools } from '#features/pools/pools.sql';
import { CONTRACTS, type Response, type SignedIn, TEN, until, useApp } from '../support/app';
import { PATIENT } from '../support/database';
import { foldOutbox, type PublishedRow, READ_ALL } from '../support/events/outbox';
import { differences } from '../support/recount';
import { Proxy } from '../support/network/proxy';
import { newWallet } from '../support/wallet';
import { LOCK_WAITS } from '../support/ledger';

const app = useApp();
const ERROR = 'E'.charCodeAt(0);
/** A message's type, and its length without the type. */
const HEAD = 5;

/** A network that carries PostgreSQL's errors, and holds back what the server says after one. */
class HeldEnds extends Proxy {
  protected override join(client: Socket, server: Socket): void {
    // What is sent alone would wait for what is held.
    client.setNoDelay();
    client.on('data', (data) => server.write(data)).on('close', () => server.destroy());
    let rest = Buffer.alloc(0);
    let hasFailed = false;
    server.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= HEAD && rest.length > rest.readInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readInt32BE(1));
        rest = rest.subarray(message.length);
        const send = (): unknown => client.writable && client.write(message);
        if (hasFailed) this.carry('answers', send);
        else send();
        hasFailed ||= message[0] === ERROR;
      }
    });
    server.on('close', () => client.destroy());
  }
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('calls of a statement', () => {
  const INSERT = {
    name: 'insert_items',
    text: 'INSERT INTO item SELECT * FROM unnest($1::int[], $2::text[]) RETURNING id, label',
  };
  type Row = { id: number; label: string | null };
  const pools: DatabasePool[] = [];
  let admin: Client;

  beforeAll(async () => {
    admin = new Client({ connectionString: app.database.url, application_name: 'admin' });
    await admin.connect();
    await admin.query('CREATE TABLE item (id integer PRIMARY KEY, label text)');
  });
  beforeEach(() => admin.query('TRUNCATE item'));
  afterEach(async () => {
    await admin.query('ROLLBACK');
    for (const pool of pools.splice(0)) await pool.end();
  });
  afterAll(() => admin.end());

  const openPool = ({ url = app.database.url, lockMs = 0, limits = PATIENT } = {}): WritePool => {
    const options = `-c lock_timeout=${lockMs}`;
    const pool = new DatabasePool({ connectionString: url, max: 3, options });
    pools.push(pool);
    return new WritePool(pool, limits);
  };
  const open = (options: Parameters<typeof openPool>[0] = {}): JoinedWrites =>
    new JoinedWrites(openPool(options), INSERT);
  const insert = (writes: JoinedWrites, ids: number[]): Promise<Row[]>[] =>
    ids.map((id) => writes.run<Row>([[id], [null]]));
  const stored = async (): Promise<number[]> =>
    (await admin.query<{ id: number }>('SELECT id FROM item ORDER BY id')).rows.map(({ id }) => id);
  const transactions = async (): Promise<number> =>
    (await admin.query('SELECT DISTINCT xmin::text FROM item')).rowCount!;
  const waiting = async (): Promise<number> =>
    (await app.sql(`${LOCK_WAITS} AND query LIKE '%INTO item%'`)).length;

  it('that come together are one transaction, up to 32, and each gets the rows of all', async () => {
    const answers = await Promise.all(insert(open(), range(100)));
    for (const [id, rows] of answers.entries())
      expect(rows).toContainEqual(expect.objectContaining({ id, label: null }));
    expect(answers.map(({ length }) => length)).toEqual(
      [32, 32, 32, 4].flatMap((size) => Array<number>(size).fill(size)),
    );
    expect(await transactions()).toBe(4);
    expect(await stored()).toEqual(range(100));
  });

  it('keep their elements together, whatever is in them', async () => {
    const writes = open();
    const labels = ['{}', 'a,b', '"', '\\', 'NULL', null, '', ' x ', '{"a"}', "'", '\n', 'ü'];
    await Promise.all(labels.map((label, id) => writes.run([[id], [label]])));
    const { rows } = await admin.query<Row>('SELECT label FROM item ORDER BY id');
    expect(rows.map(({ label }) => label)).toEqual(labels);
  });

  it('fail alone', async () => {
    await admin.query('INSERT INTO item VALUES (7), (20)');
    const ids = [...range(30), 5];
    const results = await Promise.allSettled(insert(open(), ids));
    const failed = results.flatMap((result, i) =>
      result.status === 'rejected' ? [[ids[i], (result.reason as { code: string }).code]] : [],
    );
    expect(failed.sort()).toEqual([20, 5, 7].map((id) => [id, '23505']));
    expect(await stored()).toEqual(range(30));
  });

  it('are tried alone once the server has given up the locks of the joint statement', async () => {
    const network = await HeldEnds.start(app.database.url);
    try {
      const pool = openPool({ url: network.url });
      const writes = new JoinedWrites(pool, INSERT);
      await Promise.all(insert(writes, [1, 2]));
      const sent = jest.spyOn(pool, 'run');
      network.hold();
      const results = Promise.allSettled(insert(writes, [1, 3, 4]));
      await until(() => network.waiting > 0);
      for (let i = 0; i < 5; i++) expect(await stored()).toEqual([1, 2]);
      expect(sent).toHaveBeenCalledTimes(1);
      network.deliver();
      expect((await results).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    } finally {
      await network.stop();
    }
    expect(await stored()).toEqual([1, 2, 3, 4]);
  });

  it('are tried alone when the connection is lost before the server says so', async () => {
    const network = await HeldEnds.start(app.database.url);
    const ofWrites = `FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%INTO item%'
      AND pid <> pg_backend_pid()`;
    try {
      const writes = open({ url: network.url });
      await Promise.all(insert(writes, [1, 2]));
      network.hold();
      const results = Promise.allSettled(insert(writes, [1, 3]));
      await until(() => network.waiting > 0);
      await admin.query(`SELECT pg_terminate_backend(pid) ${ofWrites}`);
      await until(async () => (await admin.query(`SELECT ${ofWrites}`)).rowCount === 0);
      network.deliver();
      expect((await results).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    } finally {
      await network.stop();
    }
    expect(await stored()).toEqual([1, 2, 3]);
  });

  it('are refused at once when too many wait', async () => {
    await admin.query('BEGIN; LOCK TABLE item');
    const writes = open();
    const results = Promise.allSettled(insert(writes, range(1100)));
    expect(writes.waiting).toBe(1000);
    await until(async () => (await waiting()) > 0);
    await admin.query('ROLLBACK');
    const refused = (await results).flatMap((result, i) => (result.status === 'rejected' ? [i] : []));
    expect(refused).toEqual(range(100).map((i) => 1000 + i));
    expect(await stored()).toEqual(range(1000));
  });

  it('behind a lock are refused, and are never done', async () => {
    const writes = open({ limits: LIMITS, lockMs: 300 });
    await Promise.all(insert(writes, [5000, 5001]));
    await admin.query('BEGIN; LOCK TABLE item');
    const results = await Promise.allSettled(insert(writes, range(200)));
    for (const result of results) expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    await admin.query('ROLLBACK');
    await Promise.all(insert(writes, [5002]));
    expect(await stored()).toEqual([5000, 5001, 5002]);
  });

  it('do not fail with one that waits for a lock', async () => {
    await admin.query('BEGIN; INSERT INTO item VALUES (7)');
    const writes = open({ lockMs: 300 });
    const results = insert(writes, range(10));
    const locked = results.splice(7, 1)[0];
    await Promise.all(results);
    await Promise.all(insert(writes, [10, 11, 12]));
    await admin.query('COMMIT');
    await expect(locked).rejects.toMatchObject({ code: expect.stringMatching(/^(23505|55P03)$/) });
    expect(await stored()).toEqual(range(13));
  });

  it('that have waited too long are refused, but not those behind them', async () => {
    const limits = { ...PATIENT, sendMs: 1500, resendMs: 1500, deadlineMs: 60_000, answerMs: 80_000 };
    const writes = open({ limits });
    await Promise.all(insert(writes, [0, 1]));
    await admin.query('BEGIN; LOCK TABLE item');
    const first = insert(writes, [2]);
    await until(() => writes.waiting === 0);
    first.push(...insert(writes, [3]));
    await until(() => writes.waiting === 0);
    const late = Promise.allSettled(insert(writes, range(40)));
    const begun = performance.now();
    await until(() => performance.now() - begun > limits.resendMs);
    const fresh = insert(writes, [4]);
    await admin.query('ROLLBACK');
    for (const { status } of await late) expect(status).toBe('rejected');
    await Promise.all([...first, ...fresh]);
    expect(await stored()).toEqual(range(5));
  });

  it('on a lost connection may all have been done', async () => {
    const proxy = await Proxy.start(app.database.url);
    try {
      const writes = open({ url: proxy.url });
      await Promise.all(insert(writes, [5000, 5001]));
      await admin.query('BEGIN; LOCK TABLE item');
      const results = Promise.allSettled(insert(writes, [0, 1]));
      await until(async () => (await waiting()) === 1);
      proxy.restore();
      for (const result of await results)
        expect((result as PromiseRejectedResult).reason).toBeInstanceOf(OutcomeUnknown);
    } finally {
      await admin.query('ROLLBACK');
      await proxy.stop();
    }
  });
});

describe('sign-ins in one statement', () => {
  const wallet = (): string => newWallet().address.toLowerCase();
  type Call = [nonce: string, address: string];
  /** The calls that succeeded, and the users. */
  const signIn = async (...calls: Call[]): Promise<{ done: number[]; users: (string | undefined)[] }> => {
    const newIds = calls.map(() => uuidv7());
    const values = {
      nonces: calls.map(([nonce]) => nonce),
      addresses: calls.map(([, each]) => each),
      newIds,
    };
    const rows = await app.nest.get(Database, { strict: false }).writeAll(SIGN_IN, values);
    for (const { signIn: id, address } of rows) expect(address).toBe(calls[newIds.indexOf(id)][1]);
    expect(new Set(rows.map((row) => row.signIn)).size).toBe(rows.length);
    const found = newIds.map((id) => rows.find((row) => row.signIn === id));
    return { done: found.flatMap((row, i) => (row ? [i] : [])), users: found.map((row) => row?.id) };
  };
  const isKept = async (nonce: string): Promise<boolean> =>
    (await app.sql('SELECT FROM nonces WHERE nonce = $1', [nonce])).length === 1;

  /** Whether a sign-in waits for a lock. */
  const isBlocked = async (): Promise<boolean> => (await app.sql(LOCK_WAITS)).length === 1;

  it('of a nonce that several use, one succeeds', async () => {
    const [address, other] = [wallet(), wallet()];
    const [own, any] = [await app.nonce(address), await app.nonce()];
    const { done } = await signIn([own, address], [own, address], [any, address], [any, other]);
    expect(done.filter((i) => i < 2)).toHaveLength(1);
    expect(done.filter((i) => i >= 2)).toHaveLength(1);
    expect((await signIn([own, address], [any, other])).done).toEqual([]);
  });

  it('of a nonce for one wallet, only that wallet succeeds', async () => {
    const [address, other] = [wallet(), wallet()];
    const [one, two] = [await app.nonce(address), await app.nonce(address)];
    const calls: Call[] = [
      [one, other],
      [one, address],
      [two, address],
      [two, other],
    ];
    expect((await signIn(...calls)).done).toEqual([1, 2]);
  });

  it('of one wallet with several nonces, all succeed, as one user', async () => {
    const address = wallet();
    const first = await signIn([await app.nonce(address), address], [await app.nonce(), address]);
    expect(first.done).toEqual([0, 1]);
    const second = await signIn([await app.nonce(address), address], [await app.nonce(), address]);
    expect(new Set([...first.users, ...second.users]).size).toBe(1);
    expect(await app.sql('SELECT id FROM users WHERE address = $1', [address])).toEqual([
      { id: first.users[0] },
    ]);
  });

  it('of a foreign, an expired and an unknown nonce, none succeeds, and the foreign one is kept', async () => {
    const [address, other] = [wallet(), wallet()];
    const [own, foreign, expired] = [await app.nonce(address), await app.nonce(other), await app.nonce()];
    await app.sql(`UPDATE nonces SET expires_at = now() - interval '1 second' WHERE nonce = $1`, [expired]);
    const calls: Call[] = [
      [foreign, address],
      [expired, address],
      ['unknown00', address],
      [own, address],
    ];
    expect((await signIn(...calls)).done).toEqual([3]);
    expect(await isKept(foreign)).toBe(true);
    expect(await app.sql('SELECT FROM users WHERE address = $1', [other])).toEqual([]);
    expect((await signIn([foreign, other])).done).toEqual([0]);
  });

  it('nonces are locked in their order, however they are found', async () => {
    // The last one is found first: in the table, and among the parameters.
    const [last, first] = ['z', 'a'].map((start) => start.repeat(16));
    for (const nonce of [last, first])
      await app.sql(`INSERT INTO nonces (nonce, expires_at) VALUES ($1, now() + interval '1 minute')`, [
        nonce,
      ]);
    const settings = { enable_seqscan: 'off', enable_indexscan: 'off', enable_hashjoin: 'off' };
    const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
    const [holder, signer] = [await app.connect(), await app.connect({ options: options.join(' ') })];
    await holder.query('BEGIN');
    await holder.query('SELECT FROM nonces WHERE nonce = $1 FOR UPDATE', [last]);
    const addresses = [wallet(), wallet()];
    const values = valuesOf(SIGN_IN, { nonces: [last, first], addresses, newIds: [uuidv7(), uuidv7()] });
    const signedIn = signer.query<{ address: string }>({ ...SIGN_IN, values });
    await until(isBlocked);
    await expect(
      app.sql('SELECT FROM nonces WHERE nonce = $1 FOR UPDATE NOWAIT', [first]),
    ).rejects.toMatchObject({ code: '55P03' });
    await holder.query('COMMIT');
    expect((await signedIn).rows.map(({ address }) => address).sort()).toEqual(addresses.sort());
  });

  it('of a new user who another statement has just added, both get the one user', async () => {
    const address = wallet();
    const client = await app.connect();
    const id = uuidv7();
    await client.query('BEGIN');
    await client.query('INSERT INTO users (id, address, created_at) VALUES ($1, $2, now())', [id, address]);
    const signedIn = signIn([await app.nonce(address), address], [await app.nonce(address), address]);
    await until(isBlocked);
    await client.query('COMMIT');
    expect((await signedIn).users).toEqual([id, id]);
  });
});

describe('pools that are made at the same time', () => {
  let users: SignedIn[];
  beforeAll(async () => {
    await app.listen();
    users = [await app.signIn(), await app.signIn(), await app.signIn()];
  });

  const create = (i: number, fields: object, key?: string): Promise<Response> =>
    app.post(
      '/pools',
      { initialDeposit: `${BigInt(TEN) + BigInt(i)}`, ...fields },
      users[i % users.length],
      key === undefined ? {} : { 'idempotency-key': key },
    );
  /** Nothing is written before all requests are there, so that their writes are joined. */
  const together = async (requests: () => Promise<Response>[], meanwhile = ''): Promise<Response[]> => {
    const database = app.nest.get(Database, { strict: false });
    const write = database.writeJoined.bind(database) as (...call: unknown[]) => Promise<never[]>;
    const held: (() => void)[] = [];
    const spy = jest.spyOn(database, 'writeJoined').mockImplementation(async (...call) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return write(...call);
    });
    try {
      const answers = requests();
      await until(() => held.length === answers.length);
      await app.sql(meanwhile);
      // In two turns, so that there are two statements at once.
      for (const part of [held.splice(0, answers.length / 2), held]) {
        for (const go of part) go();
        await new Promise((resolve) => setTimeout(resolve));
      }
      return await Promise.all(answers);
    } finally {
      spy.mockRestore();
    }
  };
  const transactionsOf = async (ids: string[]): Promise<number> =>
    (await app.sql('SELECT DISTINCT xmin::text FROM pools WHERE id = ANY($1)', [ids])).length;

  it.each(['without keys', 'with keys'])('are whole, and all that is derived is right: %s', async (how) => {
    const [{ count: before }] = await app.sql<{ count: number }>('SELECT count(*)::int FROM pools');
    const answers = await together(() =>
      range(10).map((i) => {
        const members = range(i).map((n) => `0x${`${i}${n}`.padStart(40, 'a')}`);
        const fields = { type: POOL_TYPES[i % 4], members, autoCompound: i % 2 === 0 };
        return create(i, fields, how === 'with keys' ? `together-${i}` : undefined);
      }),
    );
    const ids = answers.map(({ body }) => body.data.id as string);
    expect(answers.map(({ status }) => status)).toEqual(range(10).map(() => 201));
    expect(await transactionsOf(ids)).toBeLessThan(10);
    for (const [i, { body }] of answers.entries()) {
      const { data } = (await app.get(`/pools/${body.data.id}`, users[i % 3])).body;
      expect(data).toMatchObject({
        type: POOL_TYPES[i % 4],
        balance: `${BigInt(TEN) + BigInt(i)}`,
        autoCompound: i % 2 === 0,
        owner: { address: users[i % 3].address },
        transactions: [{ id: body.data.depositId, status: 'PENDING' }],
      });
      expect(data.memberAddresses).toEqual(range(i).map((n) => `0x${`${i}${n}`.padStart(40, 'a')}`));
    }
    const [{ count: after }] = await app.sql<{ count: number }>('SELECT count(*)::int FROM pools');
    expect(after - before).toBe(10);
    expect(await differences(app)).toEqual([]);
    const told = foldOutbox(await app.sql<PublishedRow>(READ_ALL)).map(({ what }) => what);
    for (const [i, id] of ids.entries())
      expect(told).toContain(`pool.created ${id} ${CONTRACTS[POOL_TYPES[i % 4]]}`);
  });

  it('fail alone when a user has been deleted', async () => {
    const gone = await app.signIn();
    users.push(gone);
    const answers = await together(
      () => range(10).map((i) => create(i, { type: 'lottery' })),
      `DELETE FROM users WHERE id = '${gone.user.id}'`,
    );
    users.pop();
    expect(answers.map(({ status }) => status)).toEqual(range(10).map((i) => (i % 4 === 3 ? 401 : 201)));
    expect(answers[3].body).toMatchObject({ code: 'token_revoked' });
    expect(await differences(app)).toEqual([]);
  });

  describe('in one statement', () => {
    const rows = (owners: SignedIn[], fields: Partial<NewPools> = {}): NewPools => ({
      pools: owners.map(() => uuidv7()),
      types: owners.map(() => 'rotating'),
      owners: owners.map(({ user }) => user.id),
      contracts: owners.map(() => CONTRACTS.rotating),
      autoCompound: owners.map(() => false),
      members: owners.map(() => '{}'),
      createdAt: owners.map(() => new Date().toISOString()),
      ownerAddresses: owners.map(({ address }) => address),
      deposits: owners.map(() => uuidv7()),
      amounts: owners.map((_, i) => `${BigInt(TEN) * 10n ** 50n + BigInt(i)}`),
      ...fields,
    });
    const database = (): Database => app.nest.get(Database, { strict: false });
    const once = async (owners: SignedIn[], keys: string[]): Promise<number[]> => {
      const values = { ...rows(owners), keys, requestHashes: keys, answers: keys };
      const made = await database().writeAll(CREATE_POOLS_ONCE, values);
      expect(await app.sql('SELECT id FROM pools WHERE id = ANY($1)', [values.pools])).toHaveLength(
        made.length,
      );
      return made.map(({ pool }) => values.pools.indexOf(pool)).sort();
    };

    it('an owner on both sides of midnight has two days', async () => {
      const [user, other] = users;
      const createdAt = ['2026-03-01T00:00:00.000Z', '2026-02-28T23:59:59.999Z', '2026-03-01T23:59:59.999Z'];
      await database().writeAll(CREATE_POOLS, rows([user, user, other], { createdAt }));
      expect(await differences(app)).toEqual([]);
    });

    it('a key makes one pool for each user', async () => {
      const [user, other] = users;
      const made = await once([user, user, other, user, other], ['a', 'a', 'a', 'b', 'a']);
      expect(made).toHaveLength(3);
      expect(made.filter((i) => i < 2)).toHaveLength(1);
      expect(made).toContain(3);
      expect(await once([user, other, user], ['a', 'a', 'c'])).toEqual([2]);
      expect(await differences(app)).toEqual([]);
    });

    it('a key whose lock another request holds makes none, and one whose record is a day old makes one', async () => {
      const [user] = users;
      expect(await once([user, user], ['old', 'young'])).toEqual([0, 1]);
      await app.sql(`UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE key = 'old'`);
      const client = await app.connect();
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`${user.user.id} held`]);
      expect(await once([user, user, user, user], ['old', 'old', 'young', 'held'])).toHaveLength(1);
      await client.query('ROLLBACK');
      expect(await once([user, user], ['old', 'held'])).toEqual([1]);
    });
  });

  it('with one key are one pool, and the others get its answer', async () => {
    const key = (i: number): string => (i % 2 === 0 ? 'shared' : `own-${i}`);
    const answers = await together(() => range(10).map((i) => create(3, { type: 'rotating' }, key(i))));
    const own = answers.filter((_, i) => i % 2 === 1);
    expect(own.map(({ status }) => status)).toEqual(own.map(() => 201));
    const shared = answers.filter((_, i) => i % 2 === 0);
    for (const { status } of shared) expect([201, 409]).toContain(status);
    const made = [...shared, ...own].filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.data.id as string)).size).toBe(6);
    expect(await differences(app)).toEqual([]);
  });
});
