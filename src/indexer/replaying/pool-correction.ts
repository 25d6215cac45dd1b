import { columnsOf } from '#platform/postgres/columns';
import { circlesOf, makeCircles } from '#indexer/ledger/circles';
import type { Decision, Rules } from '#indexer/ledger/decide';
import { rebuildDraws } from '#indexer/ledger/draws';
import { updateKept } from '#indexer/ledger/event-applier';
import { rebuildPositions } from '#indexer/ledger/position-writer';
import { Tally, refusal } from '#indexer/ledger/set-aside';
import { repairing } from '#verify/checks/connection';
import { LOCK_CURSOR, LOCK_POOLS, type Look } from '#verify/checks/look';
import { CORRECT_ROWS } from './rows.sql';
import { NO_POOL, STORED_OF, decideAgain, readLotteries } from './stored-events';

/** A pool, or a draw, that is not what its events say. */
export interface Wrong {
  /** The id of a pool, or NO_POOL with a contract and a draw. */
  id: string;
  events: number;
  /** The outcome of an event, or a row of the ledger; otherwise only events that the database once refused. */
  ledger: boolean;
}

const isPool = ({ id }: Pick<Wrong, 'id'>): boolean => !id.startsWith(NO_POOL);
/** The draw is null for events that name neither a pool nor a draw. */
function drawOf({ id }: Pick<Wrong, 'id'>): { contract: string; drawId: string | null } {
  const [, contract, drawId = null] = id.split(' ');
  return { contract, drawId };
}
/** Of a draw with a larger id no event applies, so it has no rows. */
const isDraw = (draw: ReturnType<typeof drawOf>): draw is { contract: string; drawId: string } =>
  draw.drawId !== null && BigInt(draw.drawId) <= BigInt(Number.MAX_SAFE_INTEGER);

/** One transaction takes pools with so many events, or so many pools: requests that change these wait meanwhile. */
const GROUP_EVENTS = 10_000;
const GROUP_POOLS = 1000;

/**
 * Decides the events of wrong pools and draws again, and makes the ledger's rows of the pools from them: some pools in a
 * transaction, so that locks are short. Where outcomes change, it also rebuilds circles, draws and positions in it, as the
 * database may refuse them, and the indexer decides the next events by them. What else follows from events and ledger is
 * repaired afterwards, by the checks of `verify`.
 */
export class PoolCorrection {
  private group: Wrong[] = [];
  private events = 0;
  /** Those of which another pool holds a row, or of which the database refused something. */
  private readonly later: Wrong[] = [];
  /** Pools that were rebuilt, and outcomes of events that name no pool. */
  readonly corrected = { pools: 0, chain_events: 0 };
  /** What stays as it was, and why. */
  readonly refused: string[] = [];

  constructor(private readonly look: Look) {}

  async add(pool: Wrong): Promise<void> {
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
      if (why) this.refused.push(`${isPool(pool) ? 'pool' : 'events of'} ${pool.id}: ${why}`);
    }
  }

  private async flush(): Promise<void> {
    const group = this.group.splice(0);
    this.events = 0;
    if (group.length > 0 && (await this.attempt(group, true))) this.later.push(...group);
  }

  /** @returns why the database refuses it, if it does: then nothing is changed */
  private async attempt(group: Wrong[], tryFailed: boolean): Promise<string | undefined> {
    // Another try without these events would change nothing.
    const some = group.filter(({ ledger }) => tryFailed || ledger);
    if (some.length === 0) return undefined;
    try {
      // The indexer's batches wait meanwhile.
      const { pools, outcomes } = await repairing(this.look.client, () => this.make(some, tryFailed));
      this.corrected.pools += pools;
      this.corrected.chain_events += outcomes;
      return undefined;
    } catch (error) {
      const reason = refusal(error);
      if (reason === undefined) throw error;
      return reason;
    }
  }

  private async make(group: Wrong[], tryFailed: boolean): Promise<{ pools: number; outcomes: number }> {
    const { client } = this.look;
    const { rows } = await client.query<{ effective: string }>(LOCK_CURSOR);
    const pools = group.filter(isPool);
    const ids = pools.map(({ id }) => id);
    const draws = group.filter((each) => !isPool(each)).map(drawOf);
    await client.query(LOCK_POOLS, [ids]);
    // An indexer that was started meanwhile may follow another lottery, whose draws are no error.
    const rules = { effective: Number(rows[0].effective), lotteries: await readLotteries(client) };
    const decided = await this.decide(ids, draws, rules, tryFailed);
    const ledger = pools.filter(({ id, ledger: wrong }) => wrong || decided.has(id)).map(({ id }) => id);
    if (ledger.length > 0) for (const statement of CORRECT_ROWS) await client.query(statement, [ledger]);
    const changed = ids.filter((id) => decided.has(id));
    await rebuildPositions(client, changed);
    const others = group.filter((each) => !isPool(each) && decided.has(each.id));
    await rebuildDraws(client, others.map(drawOf).filter(isDraw));
    const outcomes = others.reduce((sum, { id }) => sum + decided.get(id)!, 0);
    return { pools: ledger.length, outcomes };
  }

  /** Writes the outcomes that differ. @returns how many, of the pools and draws that have any */
  private async decide(
    ids: string[],
    draws: ReturnType<typeof drawOf>[],
    rules: Rules,
    tryFailed: boolean,
  ): Promise<Map<string, number>> {
    const { client } = this.look;
    const decided = new Map<string, number>();
    const changed: Decision[] = [];
    const circles: Parameters<typeof makeCircles>[1] = [];
    const tally = new Tally();
    await decideAgain(
      this.look,
      [STORED_OF, ids, ...columnsOf(draws, 'contract', 'drawId')],
      rules,
      tryFailed,
      (id, _, decision) => {
        if (!decision) return;
        decided.set(id, (decided.get(id) ?? 0) + 1);
        changed.push(decision);
      },
      async () => {
        tally.add(changed);
        circles.push(...circlesOf(changed.map(({ event }) => event)));
        if (changed.length > 0) await updateKept(client, changed.splice(0));
      },
    );
    // The check of these counts repairs nothing while events are in doubt.
    await tally.keep(client);
    await makeCircles(client, circlesOf(circles));
    return decided;
  }
}
