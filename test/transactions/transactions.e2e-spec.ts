import { CONTRACTS, TEN, type SignedIn, useApp } from '../support/app';
import { addTransaction, newHash } from '../support/ledger';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;
let stranger: SignedIn;

beforeAll(async () => {
  [owner, member, stranger] = [await app.signIn(), await app.signIn(), await app.signIn()];
});

/** After the pools' own deposits. */
const LATER = Date.now() + 600_000;
const later = (seconds: number): Date => new Date(LATER + seconds * 1000);

describe('the list', () => {
  it('has each with its chain data, and without its receipt', async () => {
    const { id: poolId } = await app.createPool(owner, { members: [member.address] });
    const account = owner.address;
    const fields = { type: 'WITHDRAWAL', amount: '5', createdAt: later(1) } as const;
    const row = await addTransaction(app, { poolId, account, ...fields });
    const { data, pagination } = (await app.get('/transactions', member)).body;
    expect(pagination).toEqual({ page: 1, limit: 20, total: 2, pages: 1 });
    expect(data[0]).toEqual({
      ...{ id: row.id, poolId, type: 'WITHDRAWAL', amount: '5', txHash: row.txHash, status: 'CONFIRMED' },
      ...{
        blockNumber: row.blockNumber,
        submitted: null,
        createdAt: row.createdAt.toISOString(),
        from: account,
      },
    });
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
});
