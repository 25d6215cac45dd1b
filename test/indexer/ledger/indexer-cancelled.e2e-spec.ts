import { standIn } from '#indexer/ledger/movements';
import { Replay } from '#indexer/replaying/replay';
import { until } from '../../support/app';
import {
  GENESIS,
  OTHER,
  OTHER_CONTRACT,
  POOLS_CONTRACT,
  PaperChain,
  SAVER,
  Written,
  compact,
} from '../../support/chain/paper-chain';
import { connectTo } from '../../support/database';
import { LOCK_WAITS } from '../../support/ledger';

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const DEPOSIT = 'bbbbbbbb-0000-7000-8000-000000000001';

let chain: PaperChain;
let written: Written;

const start = async (confirmations = 0): Promise<void> => {
  chain = new PaperChain();
  written = await new Written().start(chain, confirmations);
  await written.addPool(POOL, [{ id: DEPOSIT, amount: '100', at: GENESIS }]);
  await written.sql(`INSERT INTO pool_members VALUES ($1, $2, 'MEMBER', 'cooperative')`, [POOL, OTHER]);
};
afterEach(async () => {
  // Its events say what its tables say.
  await written.state();
  await written.stop();
});

const cancel = async (): Promise<unknown> =>
  (await written.sql<{ outcome: string }>('SELECT cancel_pool($1, $2) AS outcome', [POOL, SAVER]))[0].outcome;
const pay = (fields = {}) => {
  const payment = {
    kind: 'Deposited' as const,
    poolId: compact(POOL),
    ref: compact(DEPOSIT),
    account: SAVER,
  };
  return chain.add([{ ...payment, amount: '100', ...fields }]);
};
/** A payment arrives for the cancelled pool. */
const cancelledAndPaid = async (fields = {}, confirmations = 0) => {
  await start(confirmations);
  await cancel();
  const block = pay(fields);
  await written.apply(chain);
  return block;
};
const pools = () =>
  written.sql(
    `SELECT p.id, p.type, p.member_count, p.balance, p.pending_balance, t.id AS deposit, t.status, t.requested_amount AS requested,
       array(SELECT m.address || ' ' || m.role FROM pool_members m WHERE m.pool_id = p.id ORDER BY 1) AS members
     FROM pools p LEFT JOIN transactions t ON t.pool_id = p.id AND t.type = 'DEPOSIT'`,
  );
const back = {
  id: POOL,
  type: 'cooperative',
  member_count: 1,
  balance: '100',
  pending_balance: '0',
  deposit: DEPOSIT,
  status: 'CONFIRMED',
  requested: '100',
  members: [`${OTHER} MEMBER`, `${SAVER} OWNER`],
};

describe('a payment into a pool that was cancelled', () => {
  it('brings it back as it was, with its members, and confirms its deposit', async () => {
    await start();
    expect(await cancel()).toBe('cancelled');
    expect(await pools()).toEqual([]);
    pay();
    await written.apply(chain);
    expect(await pools()).toEqual([back]);
    expect(await written.sql('SELECT outcome FROM chain_events')).toEqual([{ outcome: 'APPLIED' }]);
    expect(await written.sql('SELECT FROM cancelled_pools')).toEqual([]);
    expect(await cancel()).toBe('not_empty');
    expect(await written.sql('SELECT sum(pools) AS pools, sum(pending) AS pending FROM pool_totals')).toEqual(
      [{ pools: '1', pending: '0' }],
    );
  });

  it('brings it back when it is seen, before it counts', async () => {
    await cancelledAndPaid({}, 2);
    expect(await pools()).toEqual([{ ...back, status: 'PENDING', pending_balance: '100' }]);
    expect(await cancel()).toBe('not_empty');
    chain.add();
    chain.add();
    await written.apply(chain);
    expect(await pools()).toEqual([back]);
  });

  it('of another account brings it back too: the deposit of its owner is still to be paid', async () => {
    await cancelledAndPaid({ account: OTHER, amount: '7' });
    const rows = await written.sql<{ deposit: string; status: string; balance: string }>(
      `SELECT p.balance, t.status FROM pools p JOIN transactions t ON t.pool_id = p.id ORDER BY t.status`,
    );
    expect(rows).toEqual([
      { balance: '107', status: 'CONFIRMED' },
      { balance: '107', status: 'PENDING' },
    ]);
  });

  it('counts only in the contract of the pool', async () => {
    await cancelledAndPaid({ contract: OTHER_CONTRACT });
    await written.apply(chain);
    expect(await pools()).toEqual([]);
    expect(await written.sql('SELECT outcome FROM chain_events')).toEqual([{ outcome: 'UNKNOWN_POOL' }]);
  });

  it.each([
    { kind: 'Deposited', amount: '0' },
    { kind: 'CompoundingStarted', ref: undefined, amount: undefined },
    {
      kind: 'CircleOpened',
      ref: undefined,
      circleId: '7',
      place: 2,
      collateral: '0',
      period: 60,
      drawTime: 1,
    },
  ] as object[])('does not happen by an event that costs nothing: %j', async (free) => {
    await cancelledAndPaid({ ...free, account: OTHER });
    // The search for pools that have appeared since finds none either.
    await written.apply(chain);
    expect(await pools()).toEqual([]);
    expect(await written.sql('SELECT outcome FROM chain_events')).toEqual([{ outcome: 'UNKNOWN_POOL' }]);
    // Money brings the pool back all the same.
    pay();
    await written.apply(chain);
    expect(await pools()).toContainEqual(expect.objectContaining({ balance: '100', deposit: DEPOSIT }));
  });

  it('that an older indexer has set aside is found', async () => {
    await start();
    await cancel();
    const [gone] = await written.sql<Record<string, unknown>>('DELETE FROM cancelled_pools RETURNING *');
    pay();
    await written.apply(chain);
    await written.sql(
      'INSERT INTO cancelled_pools SELECT * FROM json_populate_record(NULL::cancelled_pools, $1)',
      [JSON.stringify(gone)],
    );
    await written.apply(chain);
    expect(await pools()).toEqual([back]);
  });

  it('that a reorganisation takes back leaves the pool, with a payment that is on its way', async () => {
    const block = await cancelledAndPaid();
    await written.rewind(chain.blocks[0]);
    expect(await pools()).toEqual([{ ...back, status: 'PENDING', pending_balance: '100' }]);
    expect(await written.sql('SELECT hash FROM submissions')).toEqual([{ hash: block.events[0].txHash }]);
    expect(await cancel()).toBe('submitted');
    await written.sql('DELETE FROM submissions');
    expect(await cancel()).toBe('cancelled');
    await written.apply(chain);
    expect(await pools()).toEqual([back]);
  });

  it('is never set aside, whether the cancelling or the batch comes first', async () => {
    await start();
    const other = await connectTo(written.databaseUrl);
    const waiting = async (): Promise<number> => (await other.query(LOCK_WAITS)).rowCount!;
    pay();
    // The cancelling holds the pool; the batch waits for it, and brings the pool back.
    await other.query('BEGIN');
    await other.query('SELECT cancel_pool($1, $2)', [POOL, SAVER]);
    const applying = written.apply(chain);
    await until(async () => (await waiting()) === 1);
    await other.query('COMMIT');
    await applying;
    expect(await pools()).toEqual([back]);
    // The batch holds the pool; the cancelling waits for it, and finds money there.
    pay({ ref: null, amount: '9' });
    await other.query(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$`);
    await other.query('CREATE TRIGGER hold AFTER INSERT ON chain_events EXECUTE FUNCTION hold()');
    await other.query('SELECT pg_advisory_lock(7)');
    const held = written.apply(chain);
    await until(async () => (await waiting()) === 1);
    const third = await connectTo(written.databaseUrl);
    const outcome = third.query<{ outcome: string }>('SELECT cancel_pool($1, $2) AS outcome', [POOL, SAVER]);
    await until(async () => (await waiting()) === 2);
    await other.query('SELECT pg_advisory_unlock(7)');
    await held;
    expect((await outcome).rows).toEqual([{ outcome: 'not_empty' }]);
    expect(await written.sql(`SELECT FROM chain_events WHERE outcome <> 'APPLIED'`)).toEqual([]);
    await other.end();
    await third.end();
  });
});

describe('events that cost nothing', () => {
  /** As a replay leaves what is stored. */
  const replay = async (): Promise<void> =>
    void (await new Replay(written.operatorUrl, () => undefined).run());
  const free = { ref: null, circleId: '7', place: 2, collateral: '0', period: 60, drawTime: 1 };

  it("keep no pool: a stranger's circle does not, and a replay does not bring the pool back", async () => {
    await start();
    pay({ ...free, kind: 'CircleOpened', account: OTHER });
    await written.apply(chain);
    expect(await cancel()).toBe('cancelled');
    await replay();
    await written.apply(chain);
    expect(await pools()).toEqual([]);
    pay();
    await written.apply(chain);
    expect(await pools()).toEqual([back]);
  });

  it.each([
    ['account', SAVER],
    ['contract', POOLS_CONTRACT],
  ])('give no pool its name where the contract knows it by %s', async (poolsBy, poolName) => {
    await start();
    await written.sql(
      `INSERT INTO chain_contracts (type, address, position, from_block, pools_by, adapter, pool_id, numbered)
       VALUES ('cooperative', $1, 0, 0, $2, 'Vault', $3, false)`,
      [POOLS_CONTRACT, poolsBy, poolsBy === 'contract' ? POOL : null],
    );
    const named = { poolId: standIn(POOLS_CONTRACT, poolName), poolName, ref: null };
    // Shares that have cost nothing, given by anyone.
    pay({ ...named, amount: '0', shares: '1' });
    await written.apply(chain);
    await written.apply(chain);
    expect(await written.sql('SELECT FROM pool_names')).toEqual([]);
    // Of the version before, which named pools by any event.
    await written.sql(
      `INSERT INTO pool_names SELECT pool_id, contract, pool_name, $1, block_number, log_index FROM chain_events`,
      [POOL],
    );
    await written.sql('UPDATE chain_events SET pool_id = $1', [POOL]);
    await written.rewind(chain.blocks[0]);
    await written.apply(chain);
    expect(await written.sql('SELECT FROM pool_names')).toEqual([]);
    await written.sql(
      `UPDATE chain_cursor SET state = 'synced', beat_at = 'infinity', progress_at = 'infinity'`,
    );
    expect(await cancel()).toBe('cancelled');
    // Money names the pool, with all that came before.
    await written.addPool(POOL);
    await written.sql(`UPDATE chain_contracts SET pool_id = $1 WHERE pools_by = 'contract'`, [POOL]);
    pay({ ...named, shares: '100' });
    await written.apply(chain);
    await written.apply(chain);
    expect(await written.sql('SELECT name, pool_id AS pool FROM pool_names')).toEqual([
      { name: poolName, pool: POOL },
    ]);
    expect(await written.sql('SELECT outcome, pool_id AS pool FROM chain_events')).toEqual(
      Array(2).fill({ outcome: 'APPLIED', pool: POOL }),
    );
    expect(await written.sql(`SELECT balance FROM pools WHERE id = '${POOL}'`)).toEqual([{ balance: '100' }]);
    expect(await cancel()).toBe('not_empty');
  });
});
