import { randomUUID } from 'node:crypto';
import { PoolCorrection } from '#indexer/replaying/pool-correction';
import { Replay, type ReplayReport, asText } from '#indexer/replaying/replay';
import { connect } from '#verify/checks/connection';
import { Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { until } from '../../support/app';
import { query, connectTo } from '../../support/database';
import { SEED, generator } from '../../support/random';
import {
  GENESIS,
  LOTTERY,
  NEW_LOTTERY,
  OTHER,
  PaperChain,
  SAVER,
  Written,
  compact,
  randomEvents,
} from '../../support/chain/paper-chain';
import { verify } from '../../support/verify/verify-scene';

const POOLS = ['1', '2', '3'].map((n) => `aaaaaaaa-0000-7000-8000-00000000000${n}`);
/** Ids of announced deposits sort behind none. */
const DEPOSITS = POOLS.map((_, n) => `019b76da-a800-7859-834e-057a14d1d20${n}`);
/** What SavingsPool gives as the reference of such a deposit. */
const COMPOUNDED = Buffer.from('compound').toString('hex').padEnd(32, '0');

/** Blocks of everything that moves a pool or a draw, possible or not. */
function extend(chain: PaperChain, random: (n: number) => number, blocks: number): void {
  // Yield that is paid in again pays nothing that was announced, whatever its amount.
  const events = { pools: POOLS, refs: [...DEPOSITS, COMPOUNDED] };
  for (let i = 0; i < blocks; i += 1) chain.add(randomEvents(random, events), 1 + random(5000));
}

const empty = Written.use();
async function open(chain: PaperChain): Promise<Written> {
  const written = await empty(chain);
  await written.sql(
    `INSERT INTO chain_contracts VALUES ('lottery', '${LOTTERY}', 0, 0), ('lottery', '${NEW_LOTTERY}', 1, 0)`,
  );
  for (const [n, id] of POOLS.entries())
    await written.addPool(id, [{ id: DEPOSITS[n], amount: '200', at: GENESIS }]);
  return written;
}

const replay = (written: Written, ...more: [] | [AbortSignal]): Promise<ReplayReport> =>
  new Replay(written.operatorUrl, () => undefined, ...more).run();

/** The outcomes and rows of one pool alone, as while a replay has not come further. */
async function correct(written: Written, id: string): Promise<void> {
  const client = await connect(written.operatorUrl, true, 60_000);
  const correction = new PoolCorrection(new Look(client, new Findings(1), { repair: true }));
  await correction.add({ id, events: 3, ledger: true });
  await correction.end();
  await client.end();
}

/** As a rule of another version might have left it: outcomes, rows, times, sums and positions that no event gives. */
const DAMAGE = `
  SET session_replication_role = replica;
  UPDATE chain_events SET outcome = 'OVERDRAW', reason = 'other rule', transaction_id = NULL
    WHERE outcome = 'APPLIED' AND kind = 'Deposited' AND log_index % 2 = 0;
  UPDATE chain_events SET outcome = 'FAILED', reason = 'once' WHERE outcome = 'APPLIED' AND kind = 'YieldAccrued';
  DELETE FROM yield_accruals WHERE block_number % 3 = 0;
  UPDATE transactions SET amount = amount + 5 WHERE status = 'CONFIRMED' AND block_number % 2 = 0;
  UPDATE transactions SET owner_id = (SELECT id FROM users WHERE address = '${OTHER}'), by_owner = NOT by_owner
    WHERE status = 'CONFIRMED' AND block_number % 4 = 0;
  DELETE FROM transactions WHERE type = 'YIELD_CLAIM' AND block_number % 3 = 1;
  UPDATE transactions SET confirmed_at = confirmed_at + interval '1 day' WHERE status = 'CONFIRMED' AND block_number % 5 = 0;
  UPDATE transactions SET created_at = created_at + interval '1 day' WHERE requested_amount IS NULL AND block_number % 5 = 1;
  UPDATE yield_accruals SET accrued_at = accrued_at + interval '1 second' WHERE block_number % 3 = 1;
  UPDATE pools SET balance = 0, claimed_yield = 0, total_yield = 0;
  UPDATE positions SET owed = owed + 1; UPDATE accrual_rates SET per_unit = per_unit + 1;
  UPDATE pool_weights SET total = total + 1;
  UPDATE lottery_draws SET prize_pool = prize_pool + 1; DELETE FROM lottery_tickets WHERE account = '${OTHER}';
  UPDATE account_days SET deposited = 0; DELETE FROM owner_totals; DELETE FROM set_aside_counts;`;

/** Includes the findings of verification. Damage that bypassed the triggers was never published. */
async function state(written: Written): Promise<unknown> {
  await written.sql('DELETE FROM outbox');
  const { listed } = await verify({ databaseUrl: written.operatorUrl, repair: false, limit: 10_000 });
  return { ...(await written.rows()), wrong: listed.filter(({ kind }) => !kind.startsWith('outbox.')) };
}

describe(`beside the indexer, SEED=${SEED}`, () => {
  it('says of which contracts it cannot read the logs again, as after a change of their adapter', async () => {
    const random = generator(SEED);
    const chain = new PaperChain();
    extend(chain, random, 5);
    const [{ contract }] = chain.blocks.flatMap(({ events }) => events);
    const one = await open(chain);
    await one.apply(chain);
    expect(asText(await replay(one))).toMatch(/\nnothing differs from the stored events\n$/);
    await one.sql(
      `INSERT INTO chain_contracts (type, address, position, from_block, adapter) VALUES ('individual', $1, 0, 0, 'class Clubs')
       ON CONFLICT ON CONSTRAINT chain_contracts_pkey DO UPDATE SET adapter = excluded.adapter`,
      [contract],
    );
    const again = `If class Clubs has changed since they were read: rewind --contract ${contract}\n`;
    expect(asText(await replay(one))).toContain(`NOT READ AGAIN: the logs of ${contract}. ${again}`);
  });

  it('a ledger comes out as a new one would, while it grows', async () => {
    const random = generator(SEED);
    const chain = new PaperChain();
    extend(chain, random, 40);
    const ours = await open(chain);
    await ours.apply(chain);
    await query(ours.databaseUrl, DAMAGE);
    const replayed = replay(ours);
    extend(chain, random, 10);
    for (let to = 41; to <= 50; to += 1) await ours.apply(chain, to);
    const late = randomUUID();
    await ours.addPool(late);
    expect((await replayed).refused).toEqual([]);
    const second = await replay(ours);
    expect({ ...second, seconds: 0, events: 0 }).toMatchObject({ refused: [] });
    const fresh = await open(chain);
    await fresh.apply(chain);
    await fresh.addPool(late);
    expect(await state(ours)).toEqual(await state(fresh));
    // What a reorganisation takes back afterwards is right too.
    for (const each of [ours, fresh]) await each.rewind(chain.blocks[30]);
    expect(await state(ours)).toEqual(await state(fresh));
  });

  it('killed in the middle it leaves nothing behind, and does it all the next time', async () => {
    const chain = new PaperChain();
    extend(chain, generator(SEED), 20);
    const ours = await open(chain);
    await ours.apply(chain);
    const before = await state(ours);
    await query(
      ours.databaseUrl,
      `SET session_replication_role = replica; UPDATE positions SET owed = owed + 1;
      UPDATE transactions SET amount = amount + 1 WHERE status = 'CONFIRMED' AND requested_amount IS NULL`,
    );
    const damaged = await state(ours);
    const holder = await connectTo(ours.databaseUrl);
    await holder.query('BEGIN; SELECT FROM pools FOR UPDATE');
    const killed = expect(replay(ours)).rejects.toThrow();
    const others = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'indexer'
      AND pid <> pg_backend_pid()`;
    // It waits for the pools, with the cursor in its hand.
    await until(async () => (await ours.sql(`SELECT ${others} AND wait_event_type = 'Lock'`)).length > 0);
    await ours.sql(`SELECT pg_terminate_backend(pid) ${others}`);
    await killed;
    await holder.query('COMMIT');
    await holder.end();
    expect(await state(ours)).toEqual(damaged);
    await until(async () => (await ours.sql(`SELECT ${others}`)).length === 0);
    await replay(ours);
    expect(await state(ours)).toEqual(before);
  });

  it('keeps what payments have cost that it does not correct, and publishes only what is corrected', async () => {
    const chain = new PaperChain();
    chain.add([{ kind: 'Deposited', poolId: compact(POOLS[0]), account: SAVER, amount: '100' }]);
    chain.add([{ kind: 'Deposited', poolId: compact(POOLS[0]), account: SAVER, amount: '5' }]);
    const ours = await open(chain);
    await ours.apply(chain);
    await ours.sql(
      'UPDATE transactions SET gas_used = 21000, gas_price = 7, l1_fee = 3 WHERE requested_amount IS NULL',
    );
    await query(
      ours.databaseUrl,
      `SET session_replication_role = replica; UPDATE transactions SET amount = 6 WHERE amount = 5; DELETE FROM outbox`,
    );
    await replay(ours);
    const rows = await ours.sql(
      `SELECT amount, gas_used, gas_price, l1_fee FROM transactions WHERE status = 'CONFIRMED' ORDER BY id`,
    );
    expect(rows).toEqual([
      { amount: '100', gas_used: '21000', gas_price: '7', l1_fee: '3' },
      // The indexer asks for its receipt again.
      { amount: '5', gas_used: null, gas_price: null, l1_fee: null },
    ]);
    const told = await ours.sql<{ items: { topic: string; amount: string }[] }>(
      'SELECT items FROM outbox ORDER BY position',
    );
    expect(told.flatMap(({ items }) => items.map(({ topic, amount }) => [topic, amount]))).toEqual([
      ['transaction.reverted', '6'],
      ['deposit.confirmed', '5'],
    ]);
  });

  it('leaves an event that the database refuses, and its draw', async () => {
    const draw = { contract: LOTTERY, drawId: '1' };
    const chain = new PaperChain();
    // A draw has a price.
    chain.add([{ kind: 'DrawOpened', ...draw, amount: null, drawTime: GENESIS }]);
    chain.add([{ kind: 'TicketsIssued', ...draw, account: SAVER, amount: '1' }]);
    const ours = await open(chain);
    await ours.apply(chain);
    expect(await ours.column('SELECT outcome FROM chain_events ORDER BY block_number')).toEqual([
      ...['FAILED', 'APPLIED'],
    ]);
    const before = await state(ours);
    expect((await replay(ours)).refused).toEqual([]);
    expect(await state(ours)).toEqual(before);
  });

  it('makes the circle of a pool together with its events, as the next batch goes by it', async () => {
    const [poolId] = POOLS.map(compact);
    const circle = { poolId, circleId: '1', amount: '10' };
    const chain = new PaperChain();
    chain.add([
      {
        kind: 'CircleOpened',
        ...circle,
        account: SAVER,
        collateral: '10',
        period: 100,
        place: 2,
        drawTime: GENESIS,
      },
      ...[SAVER, OTHER].map(
        (account, place) => ({ kind: 'MemberNamed', ...circle, account, place }) as const,
      ),
    ]);
    const ours = await open(chain);
    await ours.apply(chain);
    await query(
      ours.databaseUrl,
      `SET session_replication_role = replica; UPDATE chain_events SET outcome = 'REFUSED', reason = 'other rule';
      DELETE FROM circles; DELETE FROM circle_members; DELETE FROM circle_rounds`,
    );
    await correct(ours, POOLS[0]);
    chain.add([{ kind: 'Joined', ...circle, account: OTHER }]);
    await ours.apply(chain);
    expect(await ours.column('SELECT DISTINCT outcome FROM chain_events')).toEqual(['APPLIED']);
  });

  it('counts the active pools of owners together with the balances', async () => {
    const [paid, emptied] = POOLS.map((id) => ({ poolId: compact(id), account: SAVER, amount: '5' }));
    const chain = new PaperChain();
    chain.add([
      { kind: 'Deposited', ...paid },
      { kind: 'Deposited', ...emptied },
      { kind: 'Withdrawn', ...emptied },
    ]);
    const ours = await open(chain);
    await ours.apply(chain);
    await ours.sql(
      `DELETE FROM transactions WHERE status = 'PENDING' OR pool_id = $1 OR type = 'WITHDRAWAL'`,
      [POOLS[0]],
    );
    const active: number[] = [];
    for (const pool of POOLS.slice(0, 2)) {
      await correct(ours, pool);
      active.push(...(await ours.column<number>('SELECT sum(active)::int FROM owner_totals')));
    }
    expect(active).toEqual([2, 1]);
  });

  it('makes the positions of a pool together with its events, as the next batch splits gains by them', async () => {
    const paid = { poolId: compact(POOLS[0]), account: SAVER, amount: '100' };
    const chain = new PaperChain(undefined, false);
    chain.add([{ kind: 'Deposited', ...paid }]);
    const ours = await open(chain);
    await ours.apply(chain);
    await query(
      ours.databaseUrl,
      `SET session_replication_role = replica; DELETE FROM transactions WHERE status = 'CONFIRMED'; DELETE FROM positions;
      UPDATE chain_events SET outcome = 'UNKNOWN_POOL', reason = 'no such pool yet', transaction_id = NULL`,
    );
    await correct(ours, POOLS[0]);
    chain.add([{ kind: 'Withdrawn', ...paid }]);
    await ours.apply(chain);
    expect(await ours.column('SELECT kind FROM chain_events ORDER BY block_number')).toEqual([
      ...['Deposited', 'Withdrawn'],
    ]);
  });

  it('only one corrects a database at a time', async () => {
    const ours = await open(new PaperChain());
    await ours.client.query('SELECT pg_advisory_lock(4361002)');
    await expect(replay(ours)).rejects.toThrow('another process is already repairing this database');
  });

  it('stops when it is told to', async () => {
    const chain = new PaperChain();
    extend(chain, generator(SEED), 5);
    const ours = await open(chain);
    await ours.apply(chain);
    await expect(replay(ours, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  });
});
