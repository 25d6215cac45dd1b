import { Repairs, type Value } from './connection';
import * as events from './events.sql';
import * as pools from './pools.sql';
import { comparePositions } from './positions';

interface EventValue {
  kind: string;
  id: string;
  wanted: string | null;
  found: string | null;
  /** The pools and draws that are in doubt until a person has decided; '*' for all. */
  subjects: string[];
}
interface TimeValue extends Value {
  table: 'transactions' | 'yield_accruals';
  pool: string;
  event: string | null;
}
export interface Compared<T> {
  rows: number;
  differences: T[];
}

export const unique = <T>(values: T[]): T[] => [...new Set(values)];

/** Compares the ledger with the events, some at a time. */
export class LedgerComparison extends Repairs {
  /** @returns the contract and event number to go on after, or undefined at the end */
  async events(
    after: { contract: string; seq: string },
    limit: number,
  ): Promise<{ contract: string; seq: string } | undefined> {
    const [found] = await this.rows<Compared<EventValue> & { contract: string; seq: string }>(
      events.COMPARE_EVENTS,
      after.contract,
      after.seq,
      limit,
    );
    if (!found) return undefined;
    this.findings.count('events', found.rows);
    this.reportEvents(found.differences);
    return found.rows < limit ? undefined : { contract: found.contract, seq: found.seq };
  }

  /** The rows of the ledger with their events, and the times that they have from these. */
  protected async times(ids: string[]): Promise<void> {
    this.reportEvents(await this.rows<EventValue>(events.COMPARE_LEDGER_ROWS, ids));
    const found = await this.rows<TimeValue>(events.COMPARE_TIMES, ids);
    const clear = unique(found.map(({ pool }) => pool)).filter((pool) => !this.findings.isDisputed(pool));
    const contested = clear.filter((pool) => found.some((each) => each.pool === pool && each.event));
    const { wrongEvents, doubtful } = await this.judge(contested);
    // What fits neither has another fault too, and nobody knows which times are right.
    this.findings.dispute(doubtful.filter((pool) => !wrongEvents.has(pool)));
    for (const { pool, event, ...value } of found.filter(
      (each) => wrongEvents.has(each.pool) && each.event,
    )) {
      this.findings.dispute([pool]);
      const { kept, recount } = value;
      this.findings.add({
        kind: 'chain_events.block_time',
        id: event!,
        found: recount,
        wanted: kept,
        mended: false,
      });
    }
    const mendable = clear.filter((pool) => !doubtful.includes(pool));
    for (const table of ['transactions', 'yield_accruals'] as const) {
      const some = found.filter((each) => each.table === table);
      await this.report(
        table,
        some.filter(({ pool }) => mendable.includes(pool)),
        async () => {
          await this.client.query(pools.LOCK_POOLS, [mendable]);
          for (const statement of events.REPAIR_TIMES) await this.client.query(statement, [mendable]);
        },
      );
      await this.report(
        table,
        some.filter(({ pool }) => this.findings.isDisputed(pool) && !wrongEvents.has(pool)),
      );
    }
  }

  /**
   * Where a row and its event have different times, the positions tell which is wrong: they were computed when the event
   * came. @returns pools whose positions do not follow from the events' times, and those of them where they follow from
   * the rows' times
   */
  private async judge(ids: string[]): Promise<{ doubtful: string[]; wrongEvents: Set<string> }> {
    const differing = async (some: string[], times: 'block' | 'ledger'): Promise<string[]> =>
      some.length === 0
        ? []
        : unique((await comparePositions(this.client, some, times)).differences.map(({ pool }) => pool));
    const doubtful = await differing(ids, 'block');
    const wrong = await differing(doubtful, 'ledger');
    return { doubtful, wrongEvents: new Set(doubtful.filter((pool) => !wrong.includes(pool))) };
  }

  /** The ledger and the events are never repaired: only people can tell which of the two is wrong. */
  private reportEvents(found: EventValue[]): void {
    for (const { subjects, ...difference } of found) {
      this.findings.dispute(subjects);
      this.findings.add({ ...difference, mended: false });
    }
  }
}
