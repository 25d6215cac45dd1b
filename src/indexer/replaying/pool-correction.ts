import type { Client } from 'pg';
import { makeCirclesOf } from '#indexer/ledger/circles';
import type { PoolState, Rules } from '#indexer/ledger/decide';
import { updateKept } from '#indexer/ledger/event-rows';
import { CLEAR_POOLS } from '#indexer/ledger/positions.sql';
import { rebuildPositions } from '#indexer/ledger/position-writer';
import { refusal } from '#indexer/ledger/set-aside';
import { correct } from './correction';
import { type Replayed, addToPool, decideAgain, storedItem } from './event-reader';
import { EVENTS_OF, HOLD_POOLS, POOLS_OF } from './events.sql';
import { OrderedRows, type Row, Turns } from './ordered-rows';
import type { WrongPool } from './pool-walk';
import {
  FIND_GONE,
  MAKE_ROWS,
  RAISE_POOLS,
  REMEMBER_ACTIVE,
  SET_OWNERS,
  SET_POOLS,
  TAKE_BACK,
} from './rows.sql';

/** Decisions that are written together. */
const WRITTEN_AT_ONCE = 5000;
/** One transaction takes pools with so many events, or so many pools: requests that change these wait meanwhile. */
const GROUP_EVENTS = 10_000;
const GROUP_POOLS = 1000;

/** Rebuilds pools that are wrong from their events: some in a transaction, so that locks are short. */
export class PoolCorrection {
  private group: WrongPool[] = [];
  private events = 0;
  /** Pools of which another pool holds a row, or of which the database refused something. */
  private readonly later: WrongPool[] = [];
  /** Pools that were rebuilt. */
  corrected = 0;
  /** Pools that stay as they were, and why. */
  readonly refused: string[] = [];

  constructor(
    private readonly client: Client,
    private readonly lotteries: ReadonlySet<string>,
  ) {}

  async add(pool: WrongPool): Promise<void> {
    this.group.push(pool);
    this.events += pool.events;
    if (this.events < GROUP_EVENTS && this.group.length < GROUP_POOLS) return;
    await this.flush();
  }

  /** Call it after the last pool. */
  async end(): Promise<void> {
    await this.flush();
    for (const pool of this.later.splice(0)) {
      const why = (await this.attempt([pool], true)) && (await this.attempt([pool], false));
      if (why) this.refused.push(`pool ${pool.id}: ${why}`);
    }
  }

  private async flush(): Promise<void> {
    const group = this.group.splice(0);
    this.events = 0;
    if (group.length > 0 && (await this.attempt(group, true))) this.later.push(...group);
  }

  /** @returns why the database refuses it, if it does: then nothing is changed */
  private async attempt(group: WrongPool[], tryFailed: boolean): Promise<string | undefined> {
    // Another try without these events would change nothing.
    const some = group.filter(
      ({ ledger, positions, circles }) => tryFailed || ledger || positions || circles,
    );
    if (some.length === 0) return undefined;
    try {
      const changed = await correct(this.client, (effective) => this.make(some, effective, tryFailed));
      this.corrected += changed;
      return undefined;
    } catch (error) {
      const reason = refusal(error);
      if (reason === undefined) throw error;
      return reason;
    }
  }

  private async make(group: WrongPool[], effective: number, tryFailed: boolean): Promise<number> {
    const { client } = this;
    const ids = group.map(({ id }) => id);
    await client.query(HOLD_POOLS, [ids]);
    const decided = await this.decide(ids, { effective, lotteries: this.lotteries }, tryFailed);
    const ledger = group.filter(({ id, ledger: wrong }) => wrong || decided.has(id)).map(({ id }) => id);
    if (ledger.length > 0) await this.makeRows(ledger);
    await makeCirclesOf(client, ids);
    const positions = group
      .filter(({ id, positions: wrong }) => wrong || ledger.includes(id))
      .map(({ id }) => id);
    for (const statement of CLEAR_POOLS) await client.query(statement, [positions]);
    await rebuildPositions(client, positions);
    return group.filter((pool) => pool.circles || positions.includes(pool.id)).length;
  }

  private async makeRows(ids: string[]): Promise<void> {
    const { client } = this;
    for (const statement of [SET_OWNERS, REMEMBER_ACTIVE, RAISE_POOLS, FIND_GONE])
      await client.query(statement, [ids]);
    for (const statement of TAKE_BACK) await client.query(statement);
    for (const statement of [...MAKE_ROWS, ...SET_POOLS]) await client.query(statement, [ids]);
  }

  /** Writes the outcomes that differ. @returns the pools that have any */
  private async decide(ids: string[], rules: Rules, tryFailed: boolean): Promise<Set<string>> {
    const { client } = this;
    const turns = new Turns(client);
    const pools = new Map<string, PoolState>();
    const read = await OrderedRows.open(turns, 'replay_pools', POOLS_OF, [ids]);
    for (let id = await read.key(); id !== undefined; id = await read.key())
      await read.each(id, (row) => addToPool(pools, row));
    const events = await OrderedRows.open(turns, 'replay_events', EVENTS_OF, [ids]);
    const decided = new Set<string>();
    const changed: Replayed[] = [];
    for (let id = await events.key(); id !== undefined; id = await events.key()) {
      const take = (row: Row): void => {
        const decision = decideAgain(storedItem(row), pools, rules, tryFailed);
        if (decision.isChanged) changed.push(decision);
      };
      await events.each(id, take, WRITTEN_AT_ONCE);
      if (changed.length === 0) continue;
      decided.add(id);
      await turns.idle();
      await updateKept(client, changed.splice(0));
    }
    for (const name of ['replay_pools', 'replay_events']) await client.query(`CLOSE ${name}`);
    return decided;
  }
}
