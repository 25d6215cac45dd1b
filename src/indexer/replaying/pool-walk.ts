import type { Client } from 'pg';
import { WRONG_CIRCLES } from '#indexer/ledger/circles.sql';
import type { PoolState, Rules } from '#indexer/ledger/decide';
import { countsForPositions } from '#indexer/ledger/position-writer';
import * as sql from './events.sql';
import { addToPool, decidesOther, storedItem } from './event-reader';
import { OrderedRows, Turns } from './ordered-rows';
import { PositionReplay } from './position-replay';
import { WRONG_ROWS } from './rows.sql';

/** What of a pool is not what its events say. */
export interface WrongPool {
  id: string;
  events: number;
  /** The outcome of an event, or a row of the ledger. */
  ledger: boolean;
  /** Only events that the database once refused: it may take them now. */
  failed: boolean;
  positions: boolean;
  circles: boolean;
}

/** Beside the events, each sorted by pool. */
const BESIDE = {
  pools: sql.POOLS,
  positions: sql.POSITIONS,
  weights: sql.WEIGHTS,
  rates: sql.RATES,
  journal: sql.JOURNAL,
};
/** Found by the database, meanwhile. */
const FOUND = { rows: WRONG_ROWS, circles: WRONG_CIRCLES };

type Names<T> = { [K in keyof T]: OrderedRows };

/**
 * Goes over all pools once, in the order of their ids, and replays the events of each beside what is stored of it. It
 * reads snapshots, which the indexer's batches are in as a whole or not at all, so what differs is wrong. Nothing waits
 * for it. The process holds the accounts of one pool at a time.
 */
export class PoolWalk {
  private readonly queries: Names<typeof BESIDE & typeof FOUND & { events: string }>;
  /** Events so far. */
  events = 0;

  private constructor(
    queries: Partial<Record<string, OrderedRows>>,
    private readonly rules: Rules,
  ) {
    this.queries = queries as typeof this.queries;
  }

  /** @param clients two in a transaction each that sees one snapshot, so that both cores are used */
  static async open(clients: [Client, Client], rules: Rules): Promise<PoolWalk> {
    const turns = clients.map((client) => new Turns(client));
    const queries: Partial<Record<string, OrderedRows>> = {};
    for (const [name, text] of Object.entries(FOUND))
      queries[name] = await OrderedRows.open(turns[1], `replay_${name}`, text);
    for (const [name, text] of Object.entries({ ...BESIDE, events: sql.EVENTS }))
      queries[name] = await OrderedRows.open(turns[0], `replay_${name}`, text);
    for (const rows of Object.values(queries)) rows?.begin();
    return new PoolWalk(queries, rules);
  }

  /** @param wrong is waited for */
  async run(wrong: (pool: WrongPool) => Promise<void>, signal: AbortSignal): Promise<void> {
    for (let id = await this.next(); id !== undefined; id = await this.next()) {
      signal.throwIfAborted();
      const found = await this.compare(id);
      if (found.ledger || found.failed || found.positions || found.circles) await wrong(found);
    }
  }

  private async next(): Promise<string | undefined> {
    let first: string | undefined;
    for (const rows of Object.values(this.queries)) {
      const key = await rows.key();
      if (key !== undefined && (first === undefined || key < first)) first = key;
    }
    return first;
  }

  private async compare(id: string): Promise<WrongPool> {
    const { queries } = this;
    const pools = new Map<string, PoolState>();
    await queries.pools.each(id, (row) => addToPool(pools, row));
    const replay = new PositionReplay();
    await queries.journal.each(id, ([, key, former]) => replay.expect(key!, former));
    let [ledger, failed] = [false, false];
    /** Of the pool's circle. */
    const members: string[] = [];
    const events = await queries.events.each(id, (row) => {
      const item = storedItem(row);
      if (item.before === 'FAILED') failed = true;
      ledger = decidesOther(item, pools, this.rules) || ledger;
      const { event } = item;
      const pool = pools.get(id);
      const { kind, account, circleId } = event;
      if (kind === 'MemberNamed' && circleId === pool?.circle) members.push(account!);
      if (countsForPositions(event, pool, this.rules.effective))
        replay.apply(kind === 'RoundEnded' ? { ...event, members } : event);
    });
    this.events += events;
    await queries.positions.each(id, ([, address, text]) => replay.comparePosition(address!, text!));
    await queries.weights.each(id, ([, text]) => replay.compareWeights(text!));
    await queries.rates.each(id, ([, key, text]) => replay.compareRate(Number(key), text!));
    const rows = await queries.rows.each(id, ignore);
    const circles = await queries.circles.each(id, ignore);
    return {
      id,
      events,
      ledger: ledger || rows > 0,
      failed,
      positions: replay.isWrong,
      circles: circles > 0,
    };
  }
}

const ignore = (): void => undefined;
