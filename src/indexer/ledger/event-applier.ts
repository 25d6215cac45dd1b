import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import { circlesOf, makeCircles } from './circles';
import { PoolNames, Search } from './pool-names';
import type { ChainEvent } from '#indexer/reading/decode';
import { movesMoney } from '#indexer/reading/money';
import { inChainOrder, withGains } from './gains';
import { asMovements } from './holdings';
import {
  type Announced,
  type Decision,
  type EventOutcome,
  type Item,
  type PoolState,
  type Rules,
  copyPools,
  decide,
} from './decide';
import { applyToDraws } from './draws';
import * as sql from './event-writer.sql';
import { type Reach, applyToPositions } from './position-writer';
import { Tally, refusal } from './set-aside';

/** Time between two searches while every batch has events: a busy chain must not keep late pools from their money. */
const SEARCH_MS = 1000;
/**
 * Events of pools that appear late take effect by and by, of each as many as of others: a contract that is one pool may
 * have had any number before.
 */
const MOST_APPEARED = 10_000;

type PoolRow = Omit<PoolState, 'balance' | 'announced'> & {
  id: string;
  balance: string;
  announced: Announced[] | null;
  appeared: boolean;
};

/** A row of chain_events as the driver returns it. */
type EventRow = Record<string, unknown> & { outcome: EventOutcome };

/** What a value is as a field of an event, by the type of its column; others are the same. */
const READ: Partial<Record<string, (value: never) => unknown>> = {
  bigint: Number,
  uuid: (id: string) => id.replaceAll('-', ''),
  time: (time: Date) => time.getTime() / 1000,
};

/** Turns a stored event back into the form in which it was read from the chain. */
function keptItem(row: EventRow): Item {
  const event: Record<string, unknown> = {};
  for (const [column, type, field] of sql.EVENT_COLUMNS) {
    const value = row[column];
    const read = value === null ? undefined : READ[type];
    event[field] = read ? read(value as never) : value;
  }
  return { event: event as unknown as ChainEvent, before: row.outcome };
}

/** Writes what has become of events that are stored. */
export async function updateKept(client: Client, decisions: Decision[]): Promise<void> {
  const events = decisions.map(({ event }) => event);
  await client.query(sql.UPDATE_KEPT, [
    ...columnsOf(events, 'blockNumber', 'logIndex', 'kind', 'amount'),
    ...columnsOf(decisions, 'outcome', 'reason', 'transactionId'),
  ]);
}

/**
 * Applies events within the transaction that moves the cursor: reads what the decisions depend on, decides, and writes
 * the results. The number of statements does not grow with the number of events.
 */
export class EventApplier {
  /** Pools that were created, or cancelled, after their first events were read. */
  private readonly appeared: Search<{ pools: string[] }>;
  private searchedAt = 0;
  /** Pools that have appeared, and have more events than were taken yet. */
  private unfinished: string[] = [];
  private readonly names: PoolNames;

  constructor(
    private readonly client: Client,
    private readonly lotteries: ReadonlySet<string>,
  ) {
    this.names = new PoolNames(client);
    this.appeared = new Search(client, sql.FIND_APPEARED);
  }

  /** Events above block `effective` are only stored until they have enough confirmations. */
  async apply(events: ChainEvent[], reach: Reach): Promise<Tally> {
    const { effective } = reach;
    const rules = { effective, lotteries: this.lotteries };
    const fresh = (await asMovements(this.client, events)).map((event): Item => ({ event }));
    let items = inChainOrder([...(await this.load(sql.LOAD_CONFIRMED, effective)), ...fresh]);
    const isDue = items.length === 0 || Date.now() - this.searchedAt > SEARCH_MS;
    await this.names.resolve(items, effective, isDue);
    const found = isDue ? (await this.appeared.next()).pools : [];
    if (isDue) this.searchedAt = Date.now();
    const tally = new Tally();
    if (items.length + found.length + this.unfinished.length === 0) return tally;
    const { pools, appeared } = await this.loadPools(items, found);
    let later = new Set<ChainEvent>();
    this.unfinished = [];
    if (appeared.length > 0) {
      const share = Math.max(1, Math.floor(MOST_APPEARED / appeared.length));
      const earlier = await this.load(sql.LOAD_APPEARED, appeared, share);
      const counts = new Map<string, number>();
      for (const { event } of earlier) counts.set(event.poolId!, (counts.get(event.poolId!) ?? 0) + 1);
      const unfinished = new Set([...counts.keys()].filter((pool) => counts.get(pool)! >= share));
      this.unfinished = [...unfinished];
      // Events of a pool that may have more come behind these.
      later = new Set(items.flatMap(({ event }) => (unfinished.has(event.poolId!) ? event : [])));
      items = inChainOrder([...items, ...earlier]);
    }
    const split = await withGains(this.client, items, pools, { ...rules, later });
    tally.note('position', split.gains);
    const after = await this.write(split.items, pools, { ...rules, later }, tally);
    const taken = later.size > 0 ? split.items.filter(({ event }) => !later.has(event)) : split.items;
    tally.note('position', await applyToPositions(this.client, taken, after, reach));
    await tally.keep(this.client);
    return tally;
  }

  private async load(statement: string, ...parameters: unknown[]): Promise<Item[]> {
    const { rows } = await this.client.query<EventRow>(statement, parameters);
    return rows.map(keptItem);
  }

  /**
   * Runs once for a batch. A pool that appears meanwhile is known to the next batch, which applies its earlier events
   * first.
   */
  private async loadPools(
    items: Item[],
    found: string[],
  ): Promise<{ pools: Map<string, PoolState>; appeared: string[] }> {
    const ids = new Set([...found, ...this.unfinished]);
    for (const { event } of items) if (event.poolId !== null) ids.add(event.poolId);
    if (ids.size === 0) return { pools: new Map(), appeared: [] };
    let rows = await this.lookUp(ids);
    if (rows.length < ids.size && (await this.restore(items, found, rows))) rows = await this.lookUp(ids);
    const pools = rows.map(({ id, balance, announced, ...pool }): [string, PoolState] => [
      id,
      { ...pool, balance: BigInt(balance), announced: announced ?? [] },
    ]);
    return { pools: new Map(pools), appeared: rows.flatMap(({ id, appeared }) => (appeared ? id : [])) };
  }

  private async lookUp(ids: Set<string>): Promise<PoolRow[]> {
    return (await this.client.query<PoolRow>({ ...sql.LOAD_POOLS, values: [[...ids]] })).rows;
  }

  /** Brings pools back that were cancelled, as money has come into them after all. @returns whether there are any */
  private async restore(items: Item[], found: string[], rows: PoolRow[]): Promise<boolean> {
    const known = new Set(rows.map(({ id }) => id));
    const named = items.flatMap(({ event }): [string | null, string][] =>
      movesMoney(event) ? [[event.poolId, event.contract]] : [],
    );
    const missing = [...found.map((id): [string, null] => [id, null]), ...named].filter(
      ([id]) => id !== null && !known.has(id),
    );
    const restored = await this.client.query<{ count: number }>(sql.RESTORE_POOLS, [
      missing.map(([id]) => id),
      missing.map(([, contract]) => contract),
    ]);
    return restored.rows[0].count > 0;
  }

  /**
   * Writes the outcome of the events. If the database rejects the data, each half is tried in turn, down to the single
   * event that it rejects. That event is set aside with the reason; the others apply.
   * @returns the pools as they are afterwards
   */
  private async write(
    items: Item[],
    before: Map<string, PoolState>,
    rules: Rules,
    tally: Tally,
  ): Promise<Map<string, PoolState>> {
    const pools = copyPools(before);
    const decisions = decide(items, pools, rules);
    await this.client.query('SAVEPOINT events');
    try {
      await this.writeDecisions(decisions);
      await this.client.query('RELEASE events');
      tally.add(decisions);
      return pools;
    } catch (error) {
      const reason = refusal(error);
      if (reason === undefined) throw error;
      await this.client.query('ROLLBACK TO events; RELEASE events');
      if (items.length > 1) {
        const middle = items.length >> 1;
        const between = await this.write(items.slice(0, middle), before, rules, tally);
        return this.write(items.slice(middle), between, rules, tally);
      }
      const [{ event, before: kept }] = items;
      const failed: Decision[] = [{ event, before: kept, outcome: 'FAILED', reason }];
      await this.writeDecisions(failed);
      tally.add(failed);
      return before;
    }
  }

  private async writeDecisions(decisions: Decision[]): Promise<void> {
    const matched = decisions.filter((decision) => decision.matched);
    if (matched.length > 0)
      await this.client.query(sql.CONFIRM_DEPOSITS, [
        matched.map(({ transactionId }) => transactionId),
        ...columnsOf(
          matched.map(({ event }) => event),
          ...(['amount', 'txHash', 'blockNumber', 'logIndex', 'time'] as const),
        ),
      ]);
    const kept = decisions.filter(({ before }) => before !== undefined);
    if (kept.length > 0) await updateKept(this.client, kept);
    await this.client.query(sql.writeEvents(decisions));
    await applyToDraws(this.client, decisions);
    const applied = decisions.filter(({ outcome }) => outcome === 'APPLIED');
    await makeCircles(this.client, circlesOf(applied.map(({ event }) => event)));
  }
}
