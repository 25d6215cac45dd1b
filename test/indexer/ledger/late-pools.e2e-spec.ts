import { Client } from 'pg';
import type { ChainEvent } from '#indexer/reading/decode';
import { EventApplier } from '#indexer/ledger/event-applier';
import { TIE } from '#indexer/ledger/pool-names';
import { MAX_LOGS, MAX_PLACES } from '#indexer/reading/raw-chain';
import { NO_FIELDS } from '../../support/chain/adapters';
import { type TestDatabase, freshDatabase, urlAs } from '../../support/database';
import { planOf, rowsRead } from '../../support/plans';

const CONTRACT = `0x${'ab'.repeat(20)}`;
const OTHER = `0x${'cd'.repeat(20)}`;
const SAVER = `0x${'11'.repeat(20)}`;
/** Of one unit each, with which the first pool of the contract begins. */
const WAITING = 25_000;
const FEW = 3;
const STEP = 10_000;
const EFFECTIVE = 10_000_000;

describe('a contract that is one pool, and was paid much before anybody made the pool', () => {
  let database: TestDatabase;
  let [admin, client]: Client[] = [];
  let applier: EventApplier;

  beforeAll(async () => {
    database = await freshDatabase();
    [admin, client] = [database.url, urlAs(database.url, 'indexer')].map(
      (connectionString) => new Client({ connectionString }),
    );
    await Promise.all([admin.connect(), client.connect()]);
    applier = new EventApplier(client, new Set());
    await admin.query(`
      INSERT INTO users (id, address, created_at) VALUES (gen_random_uuid(), '${SAVER}', now());
      INSERT INTO chain_contracts (type, address, position, from_block, pools_by, adapter, numbered)
      VALUES ('cooperative', '${CONTRACT}', 0, 0, 'contract', 'Kitty', false);
      INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
      VALUES (1, '0x', ${EFFECTIVE}, '0x', now(), ${EFFECTIVE}, now());
      INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
        pool_name, account, amount, outcome, reason)
      SELECT n, 0, '0x' || n, to_timestamp(1700000000 + n), '0x' || n, '${CONTRACT}', n, 'Deposited',
        pool_stand_in('${CONTRACT}', '${CONTRACT}'), '${CONTRACT}', '${SAVER}', 1, 'UNKNOWN_POOL', 'no such pool yet'
      FROM generate_series(1, ${WAITING}) n;
      INSERT INTO set_aside_counts VALUES ('UNKNOWN_POOL', ${WAITING}) ON CONFLICT (outcome) DO UPDATE SET count = ${WAITING};
      ANALYZE`);
  });
  afterAll(async () => {
    await Promise.all([admin?.end(), client?.end()]);
    await database?.drop();
  });

  const apply = async (...events: ChainEvent[]): Promise<Map<string, number>> => {
    await client.query('BEGIN');
    const { anomalies } = await applier.apply(events, { effective: EFFECTIVE, journalAbove: EFFECTIVE });
    await client.query('COMMIT');
    return anomalies;
  };
  const outcomes = async (): Promise<Record<string, number>> => {
    const { rows } = await admin.query<{ counts: Record<string, number> }>(
      `SELECT json_object_agg(outcome, n) AS counts FROM (
         SELECT outcome, count(*)::int AS n FROM chain_events GROUP BY 1) counted`,
    );
    return rows[0].counts;
  };
  const event = async (n: number, kind: 'Deposited' | 'Withdrawn', amount: number): Promise<ChainEvent> => {
    const { rows } = await admin.query<{ id: string }>(
      `SELECT replace(pool_stand_in($1, $1)::text, '-', '') AS id`,
      [CONTRACT],
    );
    const at = WAITING + n;
    return {
      ...{ ...NO_FIELDS, blockNumber: at, logIndex: 0, blockHash: `0x${at}`, time: 1_800_000_000 + n },
      ...{ txHash: `0x${at}`, contract: CONTRACT, seq: at, kind, poolId: rows[0].id, poolName: CONTRACT },
      ...{ account: SAVER, amount: `${amount}` },
    };
  };

  it('has nothing of that read while there is no pool', async () => {
    await apply(await event(1, 'Deposited', 1));
    expect(await outcomes()).toEqual({ UNKNOWN_POOL: WAITING + 1 });
    const values = [...Array<string[]>(5).fill([CONTRACT]), [WAITING + 1], [0]];
    const plan = await planOf((...query) => client.query(...query).then(({ rows }) => rows), TIE, values);
    expect(rowsRead(plan, 'chain_events')).toBe(0);
  });

  it('has it applied in steps once there is one, what comes meanwhile behind it, and holds up no other pool', async () => {
    // Another pool was paid late, also before it was made. The search, which starts over here, finds both at once.
    const other = '00000000-0000-0000-0000-000000000001';
    await admin.query(`
      INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
        account, amount, outcome, reason)
      SELECT ${WAITING} + 9, n, '0x', to_timestamp(1800000000), '0x' || n, '${OTHER}', n, 'Deposited', '${other}', '${SAVER}', 3,
        'UNKNOWN_POOL', 'no such pool yet' FROM generate_series(1, ${FEW}) n;
      UPDATE set_aside_counts SET count = count + ${FEW} WHERE outcome = 'UNKNOWN_POOL';
      INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
      SELECT p.id, 'cooperative', u.id, p.contract, now(), now()
      FROM users u, (VALUES (gen_random_uuid(), '${CONTRACT}'), ('${other}'::uuid, '${OTHER}')) p (id, contract)`);
    applier = new EventApplier(client, new Set());
    await apply();
    const all = WAITING + 1;
    // Each gets as much of a step as the other.
    let applied = STEP / 2 + FEW;
    expect(await outcomes()).toEqual({ APPLIED: applied, UNKNOWN_POOL: all - STEP / 2 });
    // All that was ever paid: too much for what is applied now.
    expect(await apply(await event(2, 'Withdrawn', all))).toEqual(new Map());
    applied += STEP;
    expect(await outcomes()).toEqual({ APPLIED: applied, UNKNOWN_POOL: all + 1 + FEW - applied });
    await apply(await event(3, 'Deposited', 7));
    await apply();
    expect(await outcomes()).toEqual({ APPLIED: all + 2 + FEW });
    await apply();
    const { rows } = await admin.query(
      `SELECT p.balance, o.balance AS held, p.deposit_count AS deposits, p.withdrawal_count AS withdrawals, c.count AS "setAside"
       FROM pools p JOIN positions o ON o.pool_id = p.id JOIN set_aside_counts c ON c.outcome = 'UNKNOWN_POOL'
       WHERE p.contract_address = '${CONTRACT}'`,
    );
    expect(rows).toEqual([{ balance: '7', held: '7', deposits: all + 1, withdrawals: 1, setAside: '0' }]);
  });

  it('has both events of a log applied together, and a claim added only to one of the same pool', async () => {
    const [pool, next] = ['2', '3'].map((n) => `00000000-0000-0000-0000-00000000000${n}`);
    const paid = (block: number, logIndex: number, fields: string): string =>
      `(${block}, ${logIndex}, '0x', to_timestamp(1800000000), '0x', '${OTHER}', ${block * MAX_PLACES + logIndex}, ${fields},
        '${SAVER}', 'UNKNOWN_POOL', 'no such pool yet')`;
    await admin.query(`
      INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
        amount, account, outcome, reason)
      SELECT 1, n, '0x', to_timestamp(1800000000), '0x', '${OTHER}', ${MAX_PLACES} + n, 'Deposited', '${pool}'::uuid, 1,
        '${SAVER}', 'UNKNOWN_POOL', 'no such pool yet' FROM generate_series(1, ${STEP} - 1) n
      UNION ALL VALUES ${[
        paid(2, 1, `'Withdrawn', '${pool}'::uuid, ${STEP} + 5`),
        paid(2, MAX_LOGS + 1, `'YieldClaimed', '${pool}'::uuid, 4`),
        paid(3, 1, `'Deposited', '${pool}'::uuid, 1`),
        paid(4, 1, `'Withdrawn', '${pool}'::uuid, 2`),
        paid(4, MAX_LOGS + 1, `'YieldClaimed', '${next}'::uuid, 2`),
        paid(5, 1, `'Withdrawn', '${pool}'::uuid, 3`),
      ].join()};
      UPDATE set_aside_counts SET count = count + ${STEP} + 5 WHERE outcome = 'UNKNOWN_POOL';
      INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
      SELECT '${pool}', 'cooperative', id, '${OTHER}', now(), now() FROM users`);
    applier = new EventApplier(client, new Set());
    for (let i = 0; i < 2; i += 1) await apply();
    const { rows } = await admin.query<{ shown: string }>(
      `SELECT concat_ws(' ', block_number, log_index, kind, amount, outcome) AS shown FROM chain_events
       WHERE contract = '${OTHER}' AND block_number BETWEEN 2 AND 5 ORDER BY block_number, log_index`,
    );
    expect(rows.map(({ shown }) => shown)).toEqual([
      `2 1 Withdrawn ${STEP - 1} APPLIED`,
      `2 ${MAX_LOGS + 1} YieldClaimed 10 APPLIED`,
      '3 1 Deposited 1 APPLIED',
      '4 1 Withdrawn 2 OVERDRAW',
      `4 ${MAX_LOGS + 1} YieldClaimed 2 UNKNOWN_POOL`,
      '5 1 YieldClaimed 3 APPLIED',
    ]);
  });
});
