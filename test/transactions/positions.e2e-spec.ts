import { CONTRACTS, type SignedIn, useApp } from '../support/app';
import { addPosition, quarantine } from '../support/ledger';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;
let outsider: SignedIn;
let stranger: SignedIn;
let pool: string;

const SCALE = 2n ** 128n;
const TIME = '2026-03-01T10:00:00.000Z';

beforeAll(async () => {
  [owner, member, outsider, stranger] = [
    await app.signIn(),
    await app.signIn(),
    await app.signIn(),
    await app.signIn(),
  ];
  pool = (await app.createPool(owner, { type: 'cooperative', members: [member.address] })).id;
  await app.sql(`INSERT INTO pool_weights VALUES ($1, 500, 0, 3, 3000, $2)`, [
    pool,
    `${(606n * SCALE) / 100n}`,
  ]);
  for (const [number, time, perWeight, perUnit] of [
    [1, 1000n, SCALE, 0n],
    [2, 2000n, SCALE / 1000n + 1n, 2n * SCALE],
    [3, 3000n, SCALE, 6n * SCALE],
  ] as const)
    await app.sql('INSERT INTO accrual_rates VALUES ($1, $2, $3, $4, $5)', [
      pool,
      number,
      `${time}`,
      `${perWeight}`,
      `${perUnit}`,
    ]);
  const big = (2n ** 127n).toString();
  await addPosition(app, pool, owner.address, {
    balance: 400,
    deposited: 500,
    withdrawn: 100,
    owed: 7,
    claimed: 5,
    accruals: 3,
  });
  // Its weight in the second accrual is 10 * 2000 - 11400, and yields 8.6; its balance yields 40.6 since then.
  await addPosition(app, pool, outsider.address, {
    balance: 10,
    deposited: 10,
    weight_offset: 11400,
    owed: big,
    accruals: 1,
  });
});

const position = async (as: SignedIn, id = pool) => {
  const { status, body } = await app.get(`/pools/${id}/position`, as);
  return [status, body.data ?? body.error];
};

describe('before any block was read', () => {
  it('says so by null', async () => {
    const zero = { deposited: '0', withdrawn: '0', balance: '0', earned: '0', claimed: '0', claimable: '0' };
    expect(await position(member)).toMatchObject([200, { ...zero, blockNumber: null, blockTime: null }]);
  });
});

describe('at a block', () => {
  beforeAll(async () => {
    await app.sql(
      `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
       VALUES (1, '0x', 12, '0x', $1, 12, now())`,
      [TIME],
    );
  });

  it('tells what the caller holds, and what the contract would pay', async () => {
    expect(await position(owner)).toEqual([
      200,
      {
        poolId: pool,
        address: owner.address,
        deposited: '500',
        withdrawn: '100',
        balance: '400',
        earned: '12',
        claimed: '5',
        claimable: '7',
        compounding: false,
        blockNumber: 12,
        blockTime: TIME,
      },
    ]);
  });

  it('adds what was accrued since the last change, and rounds each part down as the contract does', async () => {
    const claimable = (2n ** 127n + 8n + 40n).toString();
    expect(await position(outsider)).toMatchObject([200, { claimable, earned: claimable, balance: '10' }]);
  });

  it('is that of the last block with its confirmations, whose time is known near the head only', async () => {
    await app.sql('UPDATE chain_cursor SET applied_number = 10');
    expect(await position(owner)).toMatchObject([200, { blockNumber: 10, blockTime: null }]);
    await app.sql(`INSERT INTO chain_blocks VALUES (10, '0x', '0x', $1)`, ['2026-03-01T09:59:00.000Z']);
    expect(await position(owner)).toMatchObject([200, { blockTime: '2026-03-01T09:59:00.000Z' }]);
    await app.sql('UPDATE chain_cursor SET applied_number = -3');
    expect(await position(owner)).toMatchObject([200, { blockNumber: null, blockTime: null }]);
    await app.sql('UPDATE chain_cursor SET applied_number = 12');
  });

  it('is that of the last event of a detached contract', async () => {
    const time = '2026-03-01T09:00:00.000Z';
    await app.sql(
      `INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
         account, outcome) VALUES (8, 0, '', $1, '', $2, 1, 'Deposited', $3, $4, 'APPLIED')`,
      [time, CONTRACTS.cooperative, pool, owner.address],
    );
    await quarantine(app, CONTRACTS.cooperative);
    expect(await position(owner)).toMatchObject([200, { blockNumber: 8, blockTime: time }]);
    const [listed] = (await app.get('/users/me/positions', owner)).body.data;
    expect(listed).toMatchObject({ blockNumber: 8, blockTime: time });
    await app.sql('DELETE FROM chain_contracts_apart');
    await app.sql('DELETE FROM chain_events');
  });

  it('has null for what only the contract knows, until it tells accruals', async () => {
    const { id } = await app.createPool(outsider);
    await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, pools_by)
      SELECT DISTINCT type, contract_address, 0, 0, 'number' FROM pools`);
    await addPosition(app, id as string, outsider.address, { deposited: 9, balance: 9, claimed: 2 });
    const unknown = { balance: '9', claimed: '2', claimable: null, earned: null };
    expect(await position(outsider, id as string)).toMatchObject([200, unknown]);
    const { data } = (await app.get('/users/me/positions', outsider)).body;
    expect(data[0]).toMatchObject({ poolId: id, ...unknown });
    expect(data[1]).toMatchObject({ poolId: pool, claimable: (2n ** 127n + 48n).toString() });
    await app.sql('DELETE FROM chain_contracts');
    expect(await position(outsider, id as string)).toMatchObject([200, { claimable: '0', earned: '2' }]);
    await app.sql('DELETE FROM positions WHERE pool_id = $1', [id]);
  });

  it('is listed for every pool that the caller ever paid into, newest pool first', async () => {
    const pools = [pool];
    for (let i = 0; i < 4; i += 1) {
      const { id } = await app.createPool(stranger);
      pools.unshift(id);
      await addPosition(app, id as string, outsider.address, { deposited: 9, withdrawn: 9, owed: i });
    }
    const list = async (query: string) => (await app.get(`/users/me/positions${query}`, outsider)).body;
    const all = await list('');
    expect(all.data.map(({ poolId }: { poolId: string }) => poolId)).toEqual(pools);
    expect(all.pagination).toEqual({ page: 1, limit: 20, total: 5, pages: 1 });
    expect(all.data.at(-1)).toEqual((await position(outsider))[1]);
    const second = await list('?limit=2&page=2');
    expect(second.data).toEqual(all.data.slice(2, 4));
    expect(second.pagination).toEqual({ page: 2, limit: 2, total: 5, pages: 3 });
    // A pool of one's own without any deposit on the chain is none of them.
    expect((await app.get('/users/me/positions', stranger)).body.data).toEqual([]);
  });
});
