import { COMPARE_NAMES, COMPARE_POOLS } from '#verify/contract/names.sql';
import { LOCK_CURSOR } from './events.sql';
import { compareTimes } from './ledger';
import { type Look, type Value, halves, unique } from './look';
import * as lottery from './lottery.sql';
import * as members from './members.sql';
import * as pools from './pools.sql';
import { OF_ADDRESSES, type Sums, TOTALS, compareSums, repairSums } from './sums.sql';

interface Compared<T> {
  rows: number;
  differences: T[];
}

/** Pools that changed meanwhile are counted again, until so few are left that one statement can count them. */
const FEW_CHANGED_POOLS = 2000;
const MAX_ROUNDS = 5;
/** Deposits and cancelled pools that one run reports at most. */
const MOST_UNPAID = 10_000;

/** The derived columns of pools, and the rows of their ledger. */
export async function comparePools(look: Look, ids: string[]): Promise<void> {
  const { client, mode, findings } = look;
  if (mode.remember) look.floor ??= await floorOf(look);
  if (mode.hasEvents) await compareTimes(look, ids);
  const joined = await look.rows<Value>(members.COMPARE_MEMBERS, ids);
  const [types, roles] = ['type', 'role'].map((name) => joined.filter(({ column }) => column === name));
  await look.report('pool_members', types, () => client.query(members.REPAIR_TYPES, [ids]));
  // Who the owner is may be wrong in the pool as well.
  await look.report('pool_members', roles);
  const owners = await look.rows<Value>(pools.COMPARE_OWNERS, ids);
  await look.report('transactions', owners, () =>
    client.query(pools.REPAIR_OWNERS, [unique(owners.map(({ id }) => id))]),
  );
  const [found] = await look.rows<Compared<Value>>(pools.comparePools(mode.remember), ids);
  findings.count('pools', ids.length);
  findings.count('ledger rows of pools', found.rows);
  const wrong = unique(found.differences.map(({ id }) => id));
  await look.report('pools', found.differences, async () => {
    await client.query(pools.LOCK_POOLS, [wrong]);
    await client.query(pools.REPAIR_POOLS, [wrong]);
  });
}

const floorOf = async (look: Look): Promise<string> => (await look.column(pools.SNAPSHOT_FLOOR))[0];

/** All of pool_totals, with the pools that were remembered. */
export async function compareTotals(look: Look): Promise<void> {
  const { client, findings } = look;
  let floor = look.floor ?? '0';
  for (let round = 1; look.floor !== undefined && round <= MAX_ROUNDS; round += 1) {
    const next = await floorOf(look);
    let changed = 0;
    await look.goOn(pools.FIRST_POOL, [50, 5000], async (after, limit) => {
      const ids = await look.column(pools.CHANGED_POOLS, floor, after, limit);
      await client.query(pools.REMEMBER_POOLS, [ids]);
      changed += ids.length;
      return ids.at(-1);
    });
    floor = next;
    if (changed < FEW_CHANGED_POOLS) break;
  }
  await client.query('ANALYZE verified_pools');
  findings.count('totals', pools.TOTAL_COLUMNS.length);
  await compare(look, TOTALS, floor);
}

async function compare(look: Look, sums: Sums, parameter: unknown): Promise<void> {
  const found = await look.rows<Value>(compareSums(sums), parameter);
  await look.report(sums.table, found, () => look.client.query(repairSums(sums), [parameter]));
}

/** Sums of payments and pools of addresses, and the rows for their indexed memberships. */
export async function compareAddresses(look: Look, addresses: string[]): Promise<void> {
  const { client } = look;
  look.findings.count('addresses', addresses.length);
  for (const sums of OF_ADDRESSES) await compare(look, sums, addresses);
  const streams = await look.rows<Value & { pool: string }>(members.COMPARE_STREAMS, addresses);
  const wrong = unique(streams.map(({ pool }) => pool));
  await look.report('member_streams', streams, async () => {
    await client.query(pools.LOCK_POOLS, [wrong]);
    await client.query(members.DELETE_STREAMS, [wrong]);
    await client.query(members.MAKE_STREAMS, [wrong]);
  });
}

/** The names that contracts give to pools, which `replay` rebuilds, and the contracts that are a single pool. */
export async function compareNames(look: Look): Promise<void> {
  await look.report('chain_contracts', await look.rows<Value>(COMPARE_POOLS));
  await look.report('pool_names', await look.rows<Value>(COMPARE_NAMES));
}

/** Hashes submitted for unpaid deposits, which a repair removes, and cancelled pools, which are left to a person. */
export async function compareUnpaid(look: Look): Promise<void> {
  const found = await look.rows<Value & { kind: string }>(pools.COMPARE_UNPAID, MOST_UNPAID);
  const [told, cancelled] = ['submissions', 'cancelled_pools'].map((kind) =>
    found.filter((each) => each.kind === kind).map((each) => ({ ...each, column: 'state' })),
  );
  await look.report('submissions', told, () =>
    look.client.query(pools.FORGET_SUBMISSIONS, [told.map(({ id }) => id)]),
  );
  await look.report('cancelled_pools', cancelled);
}

/** @param keys contracts and ids of draws, separated by a blank */
export async function compareDraws(look: Look, keys: string[]): Promise<void> {
  const { client, findings } = look;
  type Draw = Value & { table: string; contract: string; drawId: string };
  const [found] = await look.rows<Compared<Draw>>(lottery.COMPARE_DRAWS, ...halves(keys));
  findings.count('draws', keys.length);
  const isClear = ({ contract, drawId }: Draw): boolean => !findings.isDisputed(`${contract} ${drawId}`);
  const [clear, doubtful] = [true, false].map((is) =>
    found.differences.filter((each) => isClear(each) === is),
  );
  const wrong = halves(unique(clear.map(({ contract, drawId }) => `${contract} ${drawId}`)));
  for (const table of ['lottery_draws', 'lottery_tickets']) {
    const [mendable, others] = [clear, doubtful].map((some) => some.filter((each) => each.table === table));
    await look.report(table, mendable, async () => {
      await client.query(LOCK_CURSOR);
      await client.query(lottery.DELETE_DRAWS, wrong);
      await client.query(lottery.MAKE_DRAWS, wrong);
    });
    await look.report(table, others);
  }
}

/** Counts of draws and events that the indexer maintains. */
export async function compareCounts(look: Look): Promise<void> {
  const { client, findings } = look;
  findings.count('counts of the indexer', 2);
  await look.report('lottery_totals', await look.rows<Value>(lottery.COMPARE_WINNERS), async () => {
    await client.query(LOCK_CURSOR);
    await client.query(lottery.REPAIR_WINNERS);
  });
  const repair = async (): Promise<void> => {
    await client.query(LOCK_CURSOR);
    for (const statement of lottery.REPAIR_SET_ASIDE) await client.query(statement);
  };
  // While events are in doubt, the counts may be what is right.
  const wrong = await look.rows<Value>(lottery.COMPARE_SET_ASIDE);
  await look.report('set_aside_counts', wrong, findings.hasDisputes ? undefined : repair);
}
