import type { Client } from 'pg';
import type { PoolState, Rules } from '#indexer/ledger/decide';
import * as sql from './events.sql';
import { addToPool, decidesOther, storedItem } from './event-reader';
import { OrderedRows, Turns } from './ordered-rows';
import { WRONG_ROWS } from './rows.sql';

/** A pool, or a draw, that is not what its events say. */
export interface Wrong {
  /** The key of the statements: the id of a pool, or NO_POOL with a contract and a draw. */
  id: string;
  events: number;
  /** The outcome of an event, or a row of the ledger. */
  ledger: boolean;
  /** Events that the database once refused: it may accept them now. */
  failed: boolean;
}

/**
 * Goes over all pools and draws once, and decides the events of each again. It reads snapshots, which contain a batch of
 * the indexer completely or not at all, so what differs is wrong. Nothing waits for it.
 */
export class PoolWalk {
  /** Events so far. */
  events = 0;

  private constructor(
    private readonly queries: Record<'events' | 'pools' | 'rows', OrderedRows>,
    private readonly rules: Rules,
  ) {}

  /** @param clients two in a transaction each that sees one snapshot, so that both cores are used */
  static async open(clients: [Client, Client], rules: Rules): Promise<PoolWalk> {
    const [one, other] = clients.map((client) => new Turns(client));
    const queries = {
      // The database compares the rows meanwhile.
      rows: await OrderedRows.open(other, 'replay_rows', WRONG_ROWS),
      pools: await OrderedRows.open(one, 'replay_pools', sql.POOLS),
      events: await OrderedRows.open(one, 'replay_events', sql.EVENTS),
    };
    for (const rows of Object.values(queries)) rows.begin();
    return new PoolWalk(queries, rules);
  }

  /** @param wrong is waited for */
  async run(wrong: (pool: Wrong) => Promise<void>, signal: AbortSignal): Promise<void> {
    for (let id = await this.next(); id !== undefined; id = await this.next()) {
      signal.throwIfAborted();
      const found = await this.compare(id);
      if (found.ledger || found.failed) await wrong(found);
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

  private async compare(id: string): Promise<Wrong> {
    const { queries } = this;
    const pools = new Map<string, PoolState>();
    await queries.pools.each(id, (row) => addToPool(pools, row));
    let [ledger, failed] = [false, false];
    const events = await queries.events.each(id, (row) => {
      const item = storedItem(row);
      if (item.before === 'FAILED') failed = true;
      ledger = decidesOther(item, pools, this.rules) || ledger;
    });
    this.events += events;
    const rows = await queries.rows.each(id, () => undefined);
    return { id, events, ledger: ledger || rows > 0, failed };
  }
}
