import type { Client } from 'pg';
import { COMPARE_NAMES, COMPARE_POOLS } from '#verify/contract/names.sql';
import type { Value } from './connection';
import * as days from './days.sql';
import type { Findings } from './findings';
import { type Compared, LedgerComparison, unique } from './ledger';
import * as lottery from './lottery.sql';
import * as members from './owners-and-members.sql';
import * as pools from './pools.sql';
import { asDifferences, comparePositions, rebuildPositions } from './positions';
import { CLEAR_JOURNAL, FORGET_FORMER, JOURNAL_OF_NONE, TABLE_NAMES } from './positions.sql';

export interface DrawKey {
  contract: string;
  drawId: string;
}

/** What to do besides comparing. */
export interface Mode {
  /** Repair derived data. */
  repair: boolean;
  /** Remember each pool's contribution to pool_totals, in the table of CREATE_MEMORY. */
  remember: boolean;
  /** Whether a chain was read, so that its events must explain the ledger. */
  hasEvents: boolean;
}

const drawParameters = (draws: DrawKey[]): [string[], string[]] => [
  draws.map(({ contract }) => contract),
  draws.map(({ drawId }) => drawId),
];

/** Compares derived data with the ledger, some keys at a time, and repairs it if asked to. */
export class DerivedComparison extends LedgerComparison {
  constructor(
    client: Client,
    findings: Findings,
    protected override readonly mode: Mode,
  ) {
    super(client, findings, mode);
  }

  /** The derived columns of pools, and the rows of their ledger. */
  async pools(ids: string[]): Promise<void> {
    if (this.mode.hasEvents) await this.times(ids);
    const joined = await this.rows<Value>(members.COMPARE_MEMBERS, ids);
    await this.report(
      'pool_members',
      joined.filter(({ column }) => column === 'type'),
      () => this.client.query(members.REPAIR_TYPES, [ids]),
    );
    // Who the owner is may be wrong in the pool as well.
    await this.report(
      'pool_members',
      joined.filter(({ column }) => column === 'role'),
    );
    const owners = await this.rows<Value>(pools.COMPARE_OWNERS, ids);
    await this.report('transactions', owners, () =>
      this.client.query(pools.REPAIR_OWNERS, [unique(owners.map(({ id }) => id))]),
    );
    const [found] = await this.rows<Compared<Value>>(pools.comparePools(this.mode.remember), ids);
    this.findings.count('pools', ids.length);
    this.findings.count('ledger rows of pools', found.rows);
    const wrong = unique(found.differences.map(({ id }) => id));
    await this.report('pools', found.differences, async () => {
      await this.client.query(pools.LOCK_POOLS, [wrong]);
      await this.client.query(pools.REPAIR_POOLS, [wrong]);
    });
  }

  /**
   * Compares what accounts hold and have earned with a replay of the pools' events. Call it after `events` and `pools`:
   * they find the pools whose events are themselves in doubt, and these are left out.
   */
  async positions(ids: string[]): Promise<void> {
    const clear = ids.filter((id) => !this.findings.isDisputed(id));
    if (clear.length === 0) return;
    const { events, positions, differences, former } = await comparePositions(this.client, clear);
    this.findings.count('positions', positions);
    this.findings.count('replayed events', events);
    const wrong = unique(differences.map(({ pool }) => pool));
    for (const table of TABLE_NAMES) {
      const some = differences.filter((each) => each.table === table);
      await this.report(table, some, () => rebuildPositions(this.client, wrong));
    }
    // Without these rows the indexer takes blocks back by replaying.
    await this.report('position_journal', asDifferences(former), async () => {
      await this.client.query(lottery.LOCK_CURSOR);
      const columns = (['block', 'pool', 'address'] as const).map((name) => former.map((row) => row[name]));
      await this.client.query(FORGET_FORMER, columns);
    });
  }

  /** What contracts call pools, which `replay` makes anew, and which of them are one. */
  async names(): Promise<void> {
    await this.report('chain_contracts', await this.rows<Value>(COMPARE_POOLS));
    await this.report('pool_names', await this.rows<Value>(COMPARE_NAMES));
  }

  /** What is kept to take blocks back for pools that do not exist. */
  async formerOfNone(): Promise<void> {
    const found = await this.rows<Value>(JOURNAL_OF_NONE);
    await this.report('position_journal', found, () =>
      this.client.query(CLEAR_JOURNAL, [unique(found.map(({ kept }) => kept))]),
    );
  }

  async addresses(addresses: string[]): Promise<void> {
    const [found] = await this.rows<Compared<Value & { address: string }>>(days.COMPARE_DAYS, addresses);
    this.findings.count('addresses', addresses.length);
    const wrong = unique(found.differences.map(({ address }) => address));
    await this.report('account_days', found.differences, () => this.client.query(days.REPAIR_DAYS, [wrong]));
    const owned = await this.rows<Value & { address: string }>(members.COMPARE_OWNED, addresses);
    await this.report('owner_totals', owned, () =>
      this.client.query(members.REPAIR_OWNED, [unique(owned.map(({ address }) => address))]),
    );
    await this.memberships(addresses);
  }

  /** What is kept for indexed memberships. */
  private async memberships(addresses: string[]): Promise<void> {
    const counts = await this.rows<Value & { address: string }>(members.COMPARE_COUNTS, addresses);
    await this.report('member_counts', counts, () =>
      this.client.query(members.REPAIR_COUNTS, [unique(counts.map(({ address }) => address))]),
    );
    const streams = await this.rows<Value & { pool: string }>(members.COMPARE_STREAMS, addresses);
    const wrong = unique(streams.map(({ pool }) => pool));
    await this.report('member_streams', streams, async () => {
      await this.client.query(pools.LOCK_POOLS, [wrong]);
      await this.client.query(members.DELETE_STREAMS, [wrong]);
      await this.client.query(members.MAKE_STREAMS, [wrong]);
    });
  }

  /** All of pool_totals. Every pool must have been remembered by a statement with a snapshot not older than `floor`. */
  async totals(floor: string): Promise<void> {
    const found = await this.rows<Value & { type: string; contract: string }>(pools.COMPARE_TOTALS, floor);
    this.findings.count('totals', pools.TOTAL_COLUMNS.length);
    await this.report('pool_totals', found, async () => {
      for (const { type, contract, column, kept, recount } of found) {
        const lacking = BigInt(recount!) - BigInt(kept!);
        const name = pools.TOTAL_COLUMNS.find((each) => each === column)!;
        await this.client.query(pools.repairTotal(name), [type, contract, lacking.toString()]);
      }
    });
  }

  /** What is kept of unpaid deposits and cancelled pools. Only the former can be mended: a person looks at the others. */
  async unpaid(most: number): Promise<void> {
    const found = await this.rows<Value & { kind: string }>(pools.COMPARE_UNPAID, most);
    const [told, cancelled] = ['submissions', 'cancelled_pools'].map((kind) =>
      found.filter((each) => each.kind === kind).map((each) => ({ ...each, column: 'state' })),
    );
    await this.report('submissions', told, () =>
      this.client.query(pools.FORGET_SUBMISSIONS, [told.map(({ id }) => id)]),
    );
    for (const { id, kept, recount } of cancelled)
      this.findings.add({ kind: 'cancelled_pools.state', id, found: kept, wanted: recount, mended: false });
  }

  async draws(draws: DrawKey[]): Promise<void> {
    const [found] = await this.rows<Compared<Value & DrawKey & { table: string }>>(
      lottery.COMPARE_DRAWS,
      ...drawParameters(draws),
    );
    this.findings.count('draws', draws.length);
    const key = ({ contract, drawId }: DrawKey): string => `${contract} ${drawId}`;
    const keys = new Map(found.differences.map((each) => [key(each), each]));
    const clear = [...keys.values()].filter((each) => !this.findings.isDisputed(key(each)));
    const wrong = drawParameters(clear);
    const repair = async (): Promise<void> => {
      await this.client.query(lottery.LOCK_CURSOR);
      await this.client.query(lottery.DELETE_DRAWS, wrong);
      await this.client.query(lottery.MAKE_DRAWS, wrong);
    };
    for (const table of ['lottery_draws', 'lottery_tickets']) {
      const some = found.differences.filter((each) => each.table === table);
      const [mendable, others] = [true, false].map((is) =>
        some.filter((each) => this.findings.isDisputed(key(each)) !== is),
      );
      await this.report(table, mendable, repair);
      await this.report(table, others);
    }
  }

  /** Counts of draws and events that the indexer maintains. */
  async counts(): Promise<void> {
    this.findings.count('counts of the indexer', 2);
    await this.report('lottery_totals', await this.rows<Value>(lottery.COMPARE_WINNERS), async () => {
      await this.client.query(lottery.LOCK_CURSOR);
      await this.client.query(lottery.REPAIR_WINNERS);
    });
    const repairCounts = async (): Promise<void> => {
      await this.client.query(lottery.LOCK_CURSOR);
      for (const statement of lottery.REPAIR_SET_ASIDE) await this.client.query(statement);
    };
    // While events are in doubt, the counts may be what is right.
    const wrong = await this.rows<Value>(lottery.COMPARE_SET_ASIDE);
    await this.report('set_aside_counts', wrong, this.findings.hasDisputes ? undefined : repairCounts);
  }
}
