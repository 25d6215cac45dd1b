import type { Counter } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { CANCEL_UNPAID, FORGET_CANCELLED, UNPAID } from '#features/pools/unpaid.sql';
import { MONEY_KINDS } from '#indexer/reading/money';
import { CONTRACTS, type SignedIn, sweepAll, useApp } from '../support/app';
import { addTransaction, newHash, quarantine } from '../support/ledger';
import { lookUpOnly } from '../support/lists';
import { type Fields, type PublishedRow, READ_ALL, TOLD, foldOutbox } from '../support/events/outbox';
import { differences, recountedAnalytics } from '../support/recount';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;

beforeAll(async () => {
  owner = await app.signIn();
  member = await app.signIn();
  // From the second on, memberships are indexed.
  await lookUpOnly(app, 1);
});

// After every test the derived rows match a recount, and the events say what the tables say.
afterEach(async () => {
  expect(await differences(app)).toEqual([]);
  expect((await app.get('/analytics/pools', owner)).body.data).toMatchObject(await recountedAnalytics(app));
  expect(foldOutbox(await app.sql<PublishedRow>(READ_ALL))).toEqual(await app.sql(TOLD));
});

const create = (fields: object = {}): Promise<{ id: string; depositId: string }> =>
  app.createPool(owner, { type: 'cooperative', members: [member.address], ...fields });
const cancel = (id: string, as: SignedIn = owner) => app.send({ method: 'DELETE', url: `/pools/${id}`, as });
const seen = async (as: SignedIn): Promise<unknown[]> => {
  const [pools, transactions, user] = await Promise.all([
    app.get('/pools', as),
    app.get('/transactions', as),
    app.get('/analytics/user', as),
  ]);
  const { pagination, data } = pools.body;
  return [pagination.total, data, transactions.body.pagination.total, transactions.body.data, user.body.data];
};

/**
 * What becomes of rows that hang on a pool when it is cancelled, and when a payment that came late restores it:
 * - refuses: while there are any, the pool cannot be cancelled. `cancel_pool` asks for them.
 * - restored: `cancel_pool` keeps them, and `restore_pools` brings them back as they were.
 * - lost: they are gone for good, on purpose.
 * A new foreign key fails the test until it is here. Rows that only name a pool, without a foreign key, stay.
 */
const HANGING: Record<string, 'refuses' | 'restored' | 'lost'> = {
  // A pool that its contract knows by another name than its id is not restored by a payment.
  chain_contracts_pool_id_fkey: 'lost',
  pool_members_pool_id_fkey: 'restored',
  pool_names_pool_id_fkey: 'refuses',
  yield_accruals_pool_id_fkey: 'refuses',
};

describe('rows that hang on a pool', () => {
  const keys = (): Promise<
    { name: string; table: string; asks: boolean; makes: boolean; cascades: boolean }[]
  > =>
    app.sql(`
      SELECT conname AS name, conrelid::regclass::text AS table, confdeltype IN ('c', 'n', 'd') AS cascades,
        (SELECT prosrc FROM pg_proc WHERE proname = 'cancel_pool') ~ format('EXISTS [(]SELECT FROM %s [a-z] WHERE [a-z].pool_id = pool[)]', conrelid::regclass) AS asks,
        (SELECT prosrc FROM pg_proc WHERE proname = 'restore_pools') ~ format('INSERT INTO %s ', conrelid::regclass) AS makes
      FROM pg_constraint WHERE contype = 'f' AND confrelid = 'pools'::regclass ORDER BY conname COLLATE "C"`);

  it('each have a fate when it is cancelled and restored', async () => {
    const found = await keys();
    expect(found.map(({ name }) => name)).toEqual(Object.keys(HANGING).sort());
    for (const { name, asks, makes, cascades } of found)
      expect({ name, asks, makes, cascades }).toEqual({
        ...{ name, asks: HANGING[name] === 'refuses', makes: HANGING[name] === 'restored' },
        cascades: HANGING[name] !== 'refuses',
      });
  });

  it('are as they were where they are restored', async () => {
    // One that is looked up, so that the membership of the second is indexed.
    await create();
    const { id } = await create();
    const restored = (await keys()).filter(({ name }) => HANGING[name] === 'restored');
    const rows = () =>
      Promise.all(
        restored.map(({ table }) => app.sql(`SELECT * FROM ${table} WHERE pool_id = '${id}' ORDER BY 2`)),
      );
    const before = await rows();
    expect(before.every((each) => each.length > 0)).toBe(true);
    expect((await cancel(id)).status).toBe(200);
    expect((await rows()).flat()).toEqual([]);
    await app.sql('SELECT restore_pools(ARRAY[$1]::uuid[], ARRAY[NULL]::text[])', [id]);
    expect(await rows()).toEqual(before);
  });
});

describe('cancelling a pool', () => {
  it('leaves all lists and totals as they were before it was made, for its owner and its members', async () => {
    // One that is looked up, one that is indexed.
    await create();
    const before = [await seen(owner), await seen(member)];
    const { id, depositId } = await create();
    expect(await seen(member)).not.toEqual(before[1]);
    const { status, body } = await cancel(id);
    expect([status, body]).toEqual([200, { success: true, data: { id } }]);
    expect([await seen(owner), await seen(member)]).toEqual(before);
    for (const path of [
      ...[`/pools/${id}`, `/pools/${id}/yield`, `/pools/${id}/position`, `/transactions?poolId=${id}`],
      ...[`/transactions/by-id/${depositId}`, `/pools/${id}/calls/deposit?transaction=${depositId}`],
    ])
      for (const as of [owner, member]) expect([path, (await app.get(path, as)).status]).toEqual([path, 404]);
  });

  it('is the same a second time, in any case of the id, and nothing to others', async () => {
    const { id } = await create();
    expect((await cancel(id, member)).body.code).toBe('forbidden');
    expect((await cancel(id, await app.signIn())).body.code).toBe('forbidden');
    const answers = await Promise.all([cancel(id), cancel(id.toUpperCase()), cancel(id)]);
    expect(answers.map(({ body }) => body)).toEqual(Array(3).fill({ success: true, data: { id } }));
    expect((await cancel(id, member)).status).toBe(404);
    for (const unknown of ['x', '01a1fc82-0000-7000-8000-000000000000'])
      expect((await cancel(unknown)).status).toBe(404);
    expect(await app.sql('SELECT FROM cancelled_pools WHERE id = $1', [id])).toHaveLength(1);
  });

  it('is refused when there is money in it, or has been, or some is on its way', async () => {
    const { id, depositId } = await create();
    await app.post(`/transactions/${depositId}/sent`, { hash: newHash() }, owner);
    expect((await cancel(id)).body.code).toBe('deposit_submitted');
    // Of one that has expired too: a late payment still confirms it.
    await app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE id = $1`, [depositId]);
    expect((await cancel(id)).body.code).toBe('deposit_submitted');
    await app.sql('UPDATE submissions SET checks = 1');
    await app.send({ method: 'DELETE', url: `/transactions/${depositId}/sent`, as: owner });
    await addTransaction(app, { poolId: id, account: member.address, amount: '5' });
    await addTransaction(app, { poolId: id, account: member.address, amount: '5', type: 'WITHDRAWAL' });
    expect([(await cancel(id)).status, (await cancel(id)).body.code]).toEqual([409, 'pool_not_empty']);
    expect((await app.get(`/pools/${id}`, member)).status).toBe(200);
  });

  it('is refused while the contract has money that the ledger lacks', async () => {
    const { id } = await create();
    const stored = (outcome: string, by: string, kind = 'Deposited', amount: number | null = 5) =>
      app.sql(
        `INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
         account, amount, outcome)
       SELECT 1, count(*), '', now(), '', $2, 1 + count(*), $5, $1, $3, $6, $4 FROM chain_events`,
        [id, by, owner.address, outcome, kind, amount],
      );
    const [{ contract }] = await app.sql<{ contract: string }>(
      'SELECT contract_address AS contract FROM pools WHERE id = $1',
      [id],
    );
    for (const outcome of ['FAILED', 'REFUSED', 'OVERDRAW', 'WAITING'])
      for (const kind of MONEY_KINDS) {
        await stored(outcome, contract, kind);
        expect((await cancel(id)).body.code).toBe('pool_not_empty');
        await app.sql('DELETE FROM chain_events');
      }
    // What anyone can have the contract say of any pool at no cost keeps none.
    for (const outcome of ['FAILED', 'REFUSED', 'WAITING']) {
      for (const kind of ['CircleOpened', 'CompoundingStarted', 'Moved'])
        await stored(outcome, contract, kind);
      for (const kind of MONEY_KINDS) await stored(outcome, contract, kind, 0);
      await stored(outcome, contract, 'Deposited', null);
    }
    // Money in a contract that is not the pool's, which anyone may put there, is not the pool's.
    await stored('REFUSED', `0x${'9'.repeat(40)}`);
    expect((await cancel(id)).status).toBe(200);
    await app.sql('DELETE FROM chain_events');
  });

  it('is refused while a row of a module refers to the pool, and then deletes nothing', async () => {
    const { id } = await create();
    await app.sql('CREATE TABLE pool_notes (pool_id uuid REFERENCES pools)');
    await app.sql('INSERT INTO pool_notes VALUES ($1)', [id]);
    expect(await cancel(id)).toMatchObject({ status: 409, body: { code: 'pool_not_empty' } });
    await app.sql('DROP TABLE pool_notes');
    expect((await cancel(id)).status).toBe(200);
  });

  it('of one whose deposit has expired takes that away too', async () => {
    const { id, depositId } = await create();
    await app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE id = $1`, [depositId]);
    expect((await cancel(id)).status).toBe(200);
    expect(await app.sql('SELECT FROM transactions WHERE id = $1', [depositId])).toEqual([]);
  });

  it('tells all who could read it', async () => {
    const { id, depositId } = await create();
    await cancel(id);
    const rows = await app.sql<PublishedRow>(READ_ALL);
    const last = rows.at(-1)!.items.at(-1) as Fields;
    const contract = CONTRACTS.cooperative;
    const about = { poolId: id, contract, transactionId: depositId, account: owner.address };
    expect(last).toMatchObject({ topic: 'pool.cancelled', ...about });
  });

  it('does not let a key of its creation give it back, nor make another', async () => {
    const key = { 'idempotency-key': 'k' };
    const body = { type: 'individual', initialDeposit: '10000000000000000000' };
    const first = await app.post('/pools', body, owner, key);
    await cancel(first.body.data.id as string);
    const again = await app.post('/pools', body, owner, key);
    expect([again.status, again.body.code]).toEqual([422, 'pool_cancelled']);
    const other = await app.post('/pools', { ...body, type: 'lottery' }, owner, key);
    expect(other.body.code).toBe('idempotency_key_reused');
  });

  it('of many at once, of one owner and with the same members, while others are made, counts each once', async () => {
    const crowd = await Promise.all(Array.from({ length: 5 }, () => app.signIn()));
    const members = crowd.map(({ address }) => address);
    const pools = await Promise.all(Array.from({ length: 20 }, () => create({ members })));
    const answers = await Promise.all(pools.flatMap(({ id }) => [cancel(id), create({ members })]));
    expect(answers.filter((each) => 'status' in each && each.status !== 200)).toEqual([]);
    for (const each of crowd) expect((await app.get('/pools', each)).body.pagination.total).toBe(20);
  });

  it('and a payment that is told at the same time: one of them is refused', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { id, depositId } = await create();
        const [gone, told] = await Promise.all([
          cancel(id),
          app.post(`/transactions/${depositId}/sent`, { hash: newHash() }, owner),
        ]);
        return [gone.body.code ?? 'cancelled', told.body.code ?? 'told'].join();
      }),
    );
    const possible = ['cancelled,not_found', 'deposit_submitted,told'];
    expect(outcomes.filter((each) => !possible.includes(each))).toEqual([]);
  });
});

describe('time', () => {
  const DAY_MS = 86_400_000;
  const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY_MS);
  /** A pool that was announced this long ago. */
  const announced = async (days: number, status = 'EXPIRED'): Promise<{ id: string; depositId: string }> => {
    const [id, depositId] = [uuidv7(), uuidv7()];
    await app.sql(
      `INSERT INTO new_pools VALUES (ARRAY[$1::uuid], ARRAY['cooperative'], ARRAY[$2::uuid], ARRAY[$3], ARRAY[false],
         ARRAY[$4], ARRAY[$5::timestamptz], ARRAY[$6], ARRAY[$7::uuid], ARRAY[7])`,
      [
        id,
        owner.user.id,
        CONTRACTS.cooperative,
        `{${member.address}}`,
        daysAgo(days),
        owner.address,
        depositId,
      ],
    );
    await app.sql('UPDATE transactions SET status = $2 WHERE id = $1', [depositId, status]);
    return { id, depositId };
  };
  const told = (id: string): Promise<unknown> =>
    app.sql(
      'INSERT INTO submissions (transaction_id, account, hash, at, check_at) VALUES ($1, $2, $3, now(), now())',
      [id, owner.address, newHash()],
    );
  /** A sweep of a process that has just started. */
  const process = (): ExpiredRows => {
    const rows = new ExpiredRows(app.nest.get(Database), { inc: () => undefined } as unknown as Counter);
    rows.register('pools', CANCEL_UNPAID, { ...UNPAID, batch: 2 });
    rows.register('cancelled_pools', FORGET_CANCELLED);
    return rows;
  };
  const left = async (): Promise<string[]> =>
    (await app.sql<{ id: string }>('SELECT id FROM pools ORDER BY id')).map(({ id }) => id);
  const kept = async (): Promise<string[]> =>
    (await app.sql<{ id: string }>('SELECT id FROM cancelled_pools ORDER BY id')).map(({ id }) => id);
  /** The time up to which the indexer has read the chain. */
  const reads = (time: Date): Promise<unknown> =>
    app.sql(
      `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
       VALUES (1, '', 0, '', $1, 0, now()) ON CONFLICT (id) DO UPDATE SET block_time = excluded.block_time`,
      [time],
    );

  beforeAll(async () => {
    // The service's own sweeps would interfere.
    await app.nest.get(ExpiredRows).onModuleDestroy();
    for (const id of await left()) await cancel(id);
    await app.sql('DELETE FROM cancelled_pools');
  });
  afterEach(async () => {
    await app.sql('DELETE FROM chain_cursor');
    await app.sql('DELETE FROM cancelled_pools');
  });

  it('cancels a pool a week after its deposit was announced, if that has expired and nothing was paid', async () => {
    const before = await left();
    const stay = [await announced(6), await announced(8, 'PENDING'), await announced(8), await announced(20)];
    await told(stay[2].depositId);
    await addTransaction(app, { poolId: stay[3].id, account: owner.address, amount: '5' });
    const go = [
      await announced(8),
      await announced(31),
      await announced(90),
      await announced(8),
      await announced(8),
    ];
    await told(go[1].depositId);
    expect(await sweepAll(process())).toBe(0);
    await reads(daysAgo(5));
    // The indexer has not read payments of the last days.
    expect(await sweepAll(process())).toBe(2);
    await reads(new Date());
    expect(await sweepAll(process())).toBe(3);
    expect(await left()).toEqual([...before, ...stay.map(({ id }) => id)].sort());
    expect(await kept()).toEqual(go.map(({ id }) => id).sort());
    expect((await app.get(`/pools/${go[0].id}`, member)).status).toBe(404);
    expect(await app.sql('SELECT FROM submissions WHERE transaction_id = $1', [go[1].depositId])).toEqual([]);
  });

  it('checks late deposits again after an hour, but no old ones', async () => {
    const rows = process();
    await reads(new Date());
    await told((await announced(8)).depositId);
    const before = await left();
    expect(await sweepAll(rows)).toBe(0);
    const late = await announced(9);
    const old = await announced(61);
    expect(await sweepAll(rows)).toBe(0);
    jest.useFakeTimers({
      now: Date.now() + 3_600_001,
      doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'performance'],
    });
    try {
      expect(await sweepAll(rows)).toBe(1);
    } finally {
      jest.useRealTimers();
    }
    expect(await kept()).toEqual([late.id]);
    expect(await left()).toEqual([...before, old.id].sort());
    expect(await sweepAll(process())).toBe(1);
  });

  it('forgets a cancelled pool after a month, once the ledger has all payments until then', async () => {
    const [APART, OTHER] = [CONTRACTS.lottery, CONTRACTS.cooperative];
    const cancelled = async (days: number, contract = OTHER): Promise<string> => {
      const id = uuidv7();
      await app.sql(
        `INSERT INTO cancelled_pools (id, type, owner_id, account, contract_address, auto_compound, members, created_at,
           cancelled_at) VALUES ($1, 'cooperative', $2, $3, $4, false, '{}', $5, $5)`,
        [id, owner.user.id, owner.address, contract, daysAgo(days)],
      );
      return id;
    };
    const ids = [await cancelled(29), await cancelled(31), await cancelled(40), await cancelled(40, APART)];
    await quarantine(app, APART);
    await sweepAll(process());
    expect(await kept()).toEqual([...ids].sort());
    await reads(daysAgo(5));
    expect(await sweepAll(process())).toBe(1);
    expect(await kept()).toEqual([ids[0], ids[1], ids[3]].sort());
    await reads(new Date());
    // A payment may wait for its confirmations.
    await app.sql('UPDATE chain_cursor SET block_number = 1');
    expect(await sweepAll(process())).toBe(0);
    await app.sql('UPDATE chain_cursor SET block_number = 0');
    await sweepAll(process());
    expect(await kept()).toEqual([ids[0], ids[3]].sort());
    await app.sql('DELETE FROM chain_contracts_apart');
    await sweepAll(process());
    expect(await kept()).toEqual([ids[0]]);
    await expect(app.sql('UPDATE cancelled_pools SET cancelled_at = now()')).rejects.toThrow('refused');
  });
});
