import { Repairs, type Value } from '#verify/checks/connection';
import { KeyBatchSize } from '#verify/checks/walk';
import type { Walk } from '#verify/checks/walk';
import * as sql from './told.sql';

interface Told {
  block: string;
  what: string;
  told: number;
  applied: number;
  subjects: string[];
}
interface Place {
  xid: string;
  position: string;
}

/** Looked at at once. A row of the outbox has up to a thousand events. */
const MOST_EVENTS = 5000;
const MOST_ROWS = 500;
/** Differences that are told of in one run. */
const MOST_DIFFERING = 10_000;

/** Compares what the outbox tells of the chain's events, as far as it still keeps that, with the events that apply. */
export class ToldComparison extends Repairs {
  /** @param step is called with the rows that were looked at */
  async compare(walk: Walk, step: (rows: number) => void): Promise<void> {
    const [{ first, until }] = await this.rows<{ first: string; until: string }>(sql.REACH);
    await walk.everyPlace(new KeyBatchSize(1, MOST_ROWS), { xid: '0', position: '-1' }, (after, limit) => {
      step(limit);
      return this.takeTold(first, after, until, limit);
    });
    // From the last event before the first block.
    const start = { block: first, index: '-1' };
    await walk.everyPlace(new KeyBatchSize(500, MOST_EVENTS), start, async ({ block, index }, limit) => {
      step(limit);
      return (await this.rows<typeof start>(sql.TAKE_APPLIED, block, index, limit)).at(-1);
    });
    await this.client.query('ANALYZE verified_told');
    const differing = await this.rows<Told>(sql.COMPARE_TOLD, first, until, MOST_DIFFERING);
    for (const { block, what, told, applied, subjects } of differing) {
      const times = (count: number): string | null => (count === 0 ? null : `told ${count} times: ${what}`);
      this.findings.add({
        kind: 'outbox.items',
        id: block,
        found: times(told),
        wanted: times(applied),
        mended: false,
      });
      // What was told may have been right.
      if (told > applied) this.findings.dispute(subjects);
    }
  }

  private async takeTold(
    first: string,
    after: Place,
    until: string,
    limit: number,
  ): Promise<Place | undefined> {
    const [last] = await this.rows<Place & { differences: (Value & Place)[] }>(
      sql.TAKE_TOLD,
      first,
      after.xid,
      after.position,
      until,
      limit,
    );
    const wrong = last?.differences ?? [];
    await this.report('outbox', wrong, () =>
      this.client.query(sql.REPAIR_COUNT, [
        wrong.map(({ xid }) => xid),
        wrong.map(({ position }) => position),
      ]),
    );
    return last;
  }
}
