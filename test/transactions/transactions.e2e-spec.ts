import { v7 as uuidv7 } from 'uuid';
import { CONTRACTS, TEN, type SignedIn, useApp } from '../support/app';
import { addTransaction, ledgerRow, newHash } from '../support/ledger';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;
let stranger: SignedIn;

beforeAll(async () => {
  [owner, member, stranger] = [await app.signIn(), await app.signIn(), await app.signIn()];
});

const ids = (answer: { body: any }): string[] => (answer.body.data as { id: string }[]).map(({ id }) => id);
const NOT_FOUND = { success: false, error: 'Not found', code: 'not_found' };
const FORBIDDEN = { success: false, error: 'Forbidden', code: 'forbidden' };
/** After the pools' own deposits. */
const LATER = Date.now() + 600_000;
const later = (seconds: number): Date => new Date(LATER + seconds * 1000);

describe('the list', () => {
  it('is empty for a new user', async () => {
    const { status, body } = await app.get('/transactions', await app.signIn());
    expect(status).toBe(200);
    const pagination = { page: 1, limit: 20, total: 0, pages: 0 };
    expect(body).toEqual({ success: true, data: [], pagination, next: null });
  });

  it('has those of pools that the caller owns or is a member of, newest first, and no others', async () => {
    const [a, b] = [await app.signIn(), await app.signIn()];
    const own = await app.createPool(a);
    const shared = await app.createPool(b, { members: [a.address] });
    const other = await app.createPool(b);
    const mine = await addTransaction(app, { poolId: own.id, account: a.address, createdAt: later(2) });
    const theirs = await addTransaction(app, {
      poolId: shared.id,
      account: b.address,
      type: 'WITHDRAWAL',
      amount: '5',
      createdAt: later(1),
    });
    await addTransaction(app, { poolId: other.id, account: b.address, createdAt: later(3) });

    const answer = await app.get('/transactions', a);
    expect(answer.body.pagination).toEqual({ page: 1, limit: 20, total: 4, pages: 1 });
    expect(ids(answer).slice(0, 2)).toEqual([mine.id, theirs.id]);
    expect(answer.body.data[1]).toEqual({
      id: theirs.id,
      poolId: shared.id,
      type: 'WITHDRAWAL',
      amount: '5',
      txHash: theirs.txHash,
      blockNumber: theirs.blockNumber,
      status: 'CONFIRMED',
      submitted: null,
      createdAt: theirs.createdAt.toISOString(),
      from: b.address,
    });
    const opening = (answer.body.data as { poolId: string; amount: string }[]).slice(2);
    expect(opening).toMatchObject([
      { poolId: shared.id, amount: TEN, status: 'PENDING', txHash: null, blockNumber: null },
      { poolId: own.id, amount: TEN, status: 'PENDING', txHash: null, blockNumber: null },
    ]);
    expect((await app.get('/transactions', b)).body.pagination.total).toBe(4);
  });

  it('is filtered by pool and type, and counts accordingly', async () => {
    const user = await app.signIn();
    const [one, two] = [await app.createPool(user), await app.createPool(user)];
    const add = (poolId: string, type: 'DEPOSIT' | 'WITHDRAWAL' | 'YIELD_CLAIM', at: number) =>
      addTransaction(app, { poolId, account: user.address, type, amount: '1', createdAt: later(at) });
    const claim = await add(one.id as string, 'YIELD_CLAIM', 1);
    const withdrawal = await add(one.id as string, 'WITHDRAWAL', 2);
    const otherClaim = await add(two.id as string, 'YIELD_CLAIM', 3);
    const query = async (query: string): Promise<[string[], number]> => {
      const answer = await app.get(`/transactions?${query}`, user);
      return [ids(answer), answer.body.pagination.total as number];
    };
    expect(await query('type=YIELD_CLAIM')).toEqual([[otherClaim.id, claim.id], 2]);
    expect(await query('type=WITHDRAWAL')).toEqual([[withdrawal.id], 1]);
    expect((await query('type=DEPOSIT'))[1]).toBe(2);
    expect(await query(`poolId=${one.id}&type=YIELD_CLAIM`)).toEqual([[claim.id], 1]);
    expect(await query(`poolId=${two.id}&type=WITHDRAWAL`)).toEqual([[], 0]);
    const [listed, total] = await query(`poolId=${one.id}`);
    expect(listed.slice(0, 2)).toEqual([withdrawal.id, claim.id]);
    expect(total).toBe(3);
  });

  it('shows expired ones too', async () => {
    const user = await app.signIn();
    const pool = await app.createPool(user);
    await app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE pool_id = $1`, [pool.id]);
    const { body } = await app.get('/transactions', user);
    expect(body).toMatchObject({ data: [{ status: 'EXPIRED', amount: TEN }], pagination: { total: 1 } });
  });

  it.each(['', 'pool', 'type'])('has pages that together are the whole: %s', async (filter) => {
    const user = await app.signIn();
    const pool = await app.createPool(user);
    for (let i = 0; i < 11; i++)
      await addTransaction(app, {
        poolId: pool.id,
        account: user.address,
        type: filter !== 'type' && i % 3 === 0 ? 'WITHDRAWAL' : 'DEPOSIT',
        createdAt: later(i + 1),
      });
    const filters = { '': '', pool: `&poolId=${pool.id}`, type: '&type=DEPOSIT' };
    const suffix = filters[filter as keyof typeof filters];
    const page = (page: number, limit: number) =>
      app.get(`/transactions?page=${page}&limit=${limit}${suffix}`, user);
    const all = ids(await page(1, 100));
    expect(all).toHaveLength(12);
    expect([...all].sort().reverse()).toEqual(all);
    for (const limit of [1, 4, 5, 12]) {
      const pages = Math.ceil(12 / limit);
      const seen: string[] = [];
      for (let number = 1; number <= pages; number++) {
        const answer = await page(number, limit);
        expect(answer.body.pagination).toEqual({ page: number, limit, total: 12, pages });
        seen.push(...ids(answer));
      }
      expect(seen).toEqual(all);
      expect(ids(await page(pages + 1, limit))).toEqual([]);
    }
    expect((await page(2147483647, 100)).body).toMatchObject({
      data: [],
      pagination: { total: 12, pages: 1 },
    });
  });

  it('has deep pages that go on where the ones before end, over the borders of days', async () => {
    const user = await app.signIn();
    const pool = await app.createPool(user);
    const DAY = 86_400_000;
    const midnight = Math.floor(Date.now() / DAY) * DAY;
    // Many on one day, few on others, none on some, and some at the first and last millisecond of a day.
    const times = Array.from({ length: 2600 }, (_, i) =>
      i < 1400
        ? midnight - DAY * 3 + i * 61_000
        : midnight - DAY * (5 + (i % 9) * 2) - (i % 3 === 0 ? 1 : (i % 3) - 1),
    );
    const rows = times.map((time, i) =>
      ledgerRow({
        poolId: pool.id as string,
        account: user.address,
        createdAt: new Date(time),
        type: i % 5 === 0 ? 'YIELD_CLAIM' : 'DEPOSIT',
      }),
    );
    await app.sql(
      `INSERT INTO transactions (id, pool_id, type, status, account, amount, created_at)
       SELECT id, $1, type, 'EXPIRED', $2, 1, at FROM unnest($3::uuid[], $4::text[], $5::timestamptz[]) r(id, type, at)`,
      [
        pool.id,
        user.address,
        rows.map(({ id }) => id),
        rows.map(({ type }) => type),
        rows.map((row) => row.createdAt),
      ],
    );
    const claims = rows.filter(({ type }) => type === 'YIELD_CLAIM').map(({ id }) => id);
    expect(claims.length).toBeLessThan(1000);
    const opening = ids(await app.get(`/transactions?limit=1`, user));
    const everything = [...opening, ...rows.map(({ id }) => id)].sort().reverse();
    const deposits = everything.filter((id) => !claims.includes(id));
    for (const [filter, all] of [
      ['', everything],
      ['&type=DEPOSIT', deposits],
      ['&type=YIELD_CLAIM', [...claims].sort().reverse()],
    ] as const) {
      const seen: string[] = [];
      for (let page = 1; page <= Math.ceil(all.length / 70) + 1; page++) {
        const answer = await app.get(`/transactions?limit=70&page=${page}${filter}`, user);
        expect(answer.body.pagination.total).toBe(all.length);
        seen.push(...ids(answer));
      }
      expect(seen).toEqual(all);
    }
  });

  it('answers 403 for a pool that the caller may not read, and 404 for an unknown one', async () => {
    const pool = await app.createPool(owner, { members: [member.address] });
    expect((await app.get(`/transactions?poolId=${pool.id}`, member)).status).toBe(200);
    const refused = await app.get(`/transactions?poolId=${pool.id}`, stranger);
    expect([refused.status, refused.body]).toEqual([403, FORBIDDEN]);
    for (const id of [uuidv7(), 'nonsense', '%00', `${pool.id}0`]) {
      const missing = await app.get(`/transactions?poolId=${id}`, owner);
      expect([missing.status, missing.body]).toEqual([404, NOT_FOUND]);
    }
  });

  it.each(['page=0', 'limit=101', 'limit=x', 'type=deposit', 'poolId=a&poolId=b', 'page=1e3'])(
    'refuses ?%s',
    async (query) => {
      const { status, body } = await app.get(`/transactions?${query}`, owner);
      expect(status).toBe(400);
      expect(body.error).toBe('Validation failed');
      expect(body.details[0].field).toBe(query.slice(0, query.indexOf('=')));
    },
  );

  it('grows for members and for the owner', async () => {
    const [a, b] = [await app.signIn(), await app.signIn()];
    const pool = await app.createPool(a, { members: [b.address] });
    const row = await addTransaction(app, { poolId: pool.id, account: a.address, createdAt: later(1) });
    expect(ids(await app.get('/transactions?limit=1', b))).toEqual([row.id]);
    await app.sql('DELETE FROM transactions WHERE id = $1', [row.id]);
    const { body } = await app.get('/transactions', b);
    expect(body.pagination.total).toBe(1);
    expect(body.data).toHaveLength(1);
  });
});

describe('by hash', () => {
  const full = {
    gasUsed: '91234',
    gasPrice: '1500000007',
    l1Fee: '72',
    amount: '4200',
    blockNumber: 9_007_199_254,
  };

  it('is the detail, in any case of the hash, for owner and members', async () => {
    const pool = await app.createPool(owner, { type: 'rotating', members: [member.address] });
    const confirmedAt = later(60);
    const row = await addTransaction(app, { poolId: pool.id, account: member.address, ...full, confirmedAt });
    const { status, body } = await app.get(`/transactions/${row.txHash}`, owner);
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      data: {
        id: row.id,
        poolId: pool.id,
        type: 'DEPOSIT',
        amount: '4200',
        txHash: row.txHash,
        blockNumber: 9_007_199_254,
        status: 'CONFIRMED',
        submitted: null,
        createdAt: row.createdAt.toISOString(),
        confirmedAt: confirmedAt.toISOString(),
        from: member.address,
        to: CONTRACTS.rotating,
        gasUsed: '91234',
        gasPrice: '1500000007',
        l1Fee: '72',
        final: false,
      },
    });
    expect((await app.get(`/transactions/${row.txHash}`, member)).body).toEqual(body);
    const upper = `0x${row.txHash!.slice(2).toUpperCase()}`;
    expect((await app.get(`/api/transactions/${upper}`, owner)).body).toEqual(body);
  });

  it('says whether its block is final', async () => {
    const pool = await app.createPool(owner);
    const row = await addTransaction(app, { poolId: pool.id, account: owner.address, blockNumber: 77 });
    const isFinal = async (): Promise<unknown> =>
      (await app.get(`/transactions/${row.txHash}`, owner)).body.data.final;
    await app.sql(`INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time,
      applied_number, beat_at) VALUES (1, '0x0', 90, '0x1', now(), 90, now())`);
    expect(await isFinal()).toBe(false);
    for (const [finalized, expected] of [
      [76, false],
      [77, true],
    ]) {
      await app.sql('UPDATE chain_cursor SET finalized_number = $1', [finalized]);
      expect(await isFinal()).toBe(expected);
    }
    await app.sql('DELETE FROM chain_cursor');
  });

  it('has no gas before the receipt was read', async () => {
    const pool = await app.createPool(owner);
    const row = await addTransaction(app, { poolId: pool.id, account: owner.address });
    const { data } = (await app.get(`/transactions/${row.txHash}`, owner)).body;
    expect(data).toMatchObject({ gasUsed: null, gasPrice: null, l1Fee: null });
  });

  it('is the first that the caller may read, where a chain transaction holds several', async () => {
    const [theirs, mine] = [await app.createPool(owner), await app.createPool(member)];
    const txHash = newHash();
    const add = (poolId: string, account: string, logIndex: number) =>
      addTransaction(app, { poolId, account, txHash, logIndex });
    const first = await add(theirs.id as string, owner.address, 0);
    const third = await add(mine.id as string, member.address, 2);
    const second = await add(mine.id as string, member.address, 1);
    expect((await app.get(`/transactions/${txHash}`, owner)).body.data.id).toBe(first.id);
    expect((await app.get(`/transactions/${txHash}`, member)).body.data.id).toBe(second.id);
    expect(third.id).not.toBe(second.id);
    expect((await app.get(`/transactions/${txHash}`, stranger)).status).toBe(403);
  });

  it('is 403 for others, and 404 for an unknown hash', async () => {
    const pool = await app.createPool(owner);
    const row = await addTransaction(app, { poolId: pool.id, account: owner.address });
    const refused = await app.get(`/transactions/${row.txHash}`, stranger);
    expect([refused.status, refused.body]).toEqual([403, FORBIDDEN]);
    for (const hash of [
      newHash(),
      'nonsense',
      row.id,
      row.txHash!.slice(2),
      `${row.txHash}0`,
      '%00',
      'null',
      '0x',
    ]) {
      const missing = await app.get(`/transactions/${hash}`, owner);
      expect([missing.status, missing.body]).toEqual([404, NOT_FOUND]);
    }
  });

  it('is there for an outsider who paid it, and the pool is not', async () => {
    const pool = await app.createPool(owner);
    const row = await addTransaction(app, { poolId: pool.id, account: stranger.address });
    const other = await addTransaction(app, { poolId: pool.id, account: owner.address });
    for (const path of [row.txHash!, `by-id/${row.id}`])
      expect((await app.get(`/transactions/${path}`, stranger)).body.data.id).toBe(row.id);
    for (const path of [other.txHash!, `by-id/${other.id}`])
      expect((await app.get(`/transactions/${path}`, stranger)).status).toBe(403);
    expect(ids(await app.get(`/transactions?poolId=${pool.id}`, stranger))).toEqual([row.id]);
    for (const path of ['', '/yield'])
      expect((await app.get(`/pools/${pool.id}${path}`, stranger)).status).toBe(403);
  });

  it('disappears when a reorganisation takes it back', async () => {
    const pool = await app.createPool(owner);
    const row = await addTransaction(app, { poolId: pool.id, account: owner.address });
    await app.sql(
      `UPDATE transactions SET status = 'PENDING', tx_hash = NULL, block_number = NULL, log_index = NULL,
         confirmed_at = NULL WHERE id = $1`,
      [row.id],
    );
    expect((await app.get(`/transactions/${row.txHash}`, owner)).status).toBe(404);
  });
});

describe('by id', () => {
  it('is the detail, as by hash', async () => {
    const pool = await app.createPool(owner, { members: [member.address] });
    const row = await addTransaction(app, { poolId: pool.id, account: owner.address, gasUsed: '5' });
    const byHash = await app.get(`/transactions/${row.txHash}`, owner);
    for (const path of [`/transactions/by-id/${row.id}`, `/api/transactions/by-id/${row.id.toUpperCase()}`])
      expect((await app.get(path, member)).body).toEqual(byHash.body);
  });

  it('is there before the chain has it, and after it expired', async () => {
    const pool = await app.createPool(owner, { type: 'rotating' });
    const [{ id }] = (await app.get(`/transactions?poolId=${pool.id}`, owner)).body.data;
    const expected = {
      id,
      poolId: pool.id,
      type: 'DEPOSIT',
      amount: TEN,
      txHash: null,
      blockNumber: null,
      status: 'PENDING',
      submitted: null,
      createdAt: pool.createdAt,
      confirmedAt: null,
      from: owner.address,
      to: CONTRACTS.rotating,
      gasUsed: null,
      gasPrice: null,
      l1Fee: null,
      final: false,
    };
    const read = async (): Promise<unknown> => (await app.get(`/transactions/by-id/${id}`, owner)).body.data;
    expect(await read()).toEqual(expected);
    await app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE id = $1`, [id]);
    expect(await read()).toEqual({ ...expected, status: 'EXPIRED' });
  });

  it('is 403 for others, and 404 where there is none', async () => {
    const pool = await app.createPool(owner);
    const row = await addTransaction(app, { poolId: pool.id, account: owner.address });
    const refused = await app.get(`/transactions/by-id/${row.id}`, stranger);
    expect([refused.status, refused.body]).toEqual([403, FORBIDDEN]);
    for (const id of [uuidv7(), pool.id, 'nonsense', '%00', row.txHash!]) {
      const missing = await app.get(`/transactions/by-id/${id}`, owner);
      expect([missing.status, missing.body]).toEqual([404, NOT_FOUND]);
    }
  });
});
