import { type Client, DatabaseError } from 'pg';
import type { Decision, EventOutcome } from './decide';

const isSetAside = (outcome: EventOutcome): boolean => outcome !== 'WAITING' && outcome !== 'APPLIED';

/** Counts the events that a batch sets aside, and those that it applies after all. */
export class Tally {
  /** Events that do not fit what is known, by kind. */
  readonly anomalies = new Map<string, number>();
  private readonly counts = new Map<EventOutcome, number>();

  add(decisions: Decision[]): void {
    for (const { event, before, outcome, matched, pool } of decisions) {
      if (before) this.change(before, -1);
      this.change(outcome, 1);
      // One that only waits for its turn surprises nobody.
      const waits = outcome === 'UNKNOWN_POOL' && pool !== undefined;
      if (isSetAside(outcome) && before !== outcome && !waits) this.note(outcome.toLowerCase());
      if (matched && matched.requested !== event.amount) this.note('amount');
    }
  }

  change(outcome: EventOutcome, by: number): void {
    if (isSetAside(outcome)) this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + by);
  }

  /** Adds to the stored counts. */
  async keep(client: Client): Promise<void> {
    const changed = [...this.counts].filter(([, change]) => change !== 0);
    if (changed.length === 0) return;
    await client.query(
      `INSERT INTO set_aside_counts AS c (outcome, count)
       SELECT outcome, change FROM unnest($1::text[], $2::bigint[]) AS d(outcome, change)
       ON CONFLICT ON CONSTRAINT set_aside_counts_pkey DO UPDATE SET count = c.count + excluded.count`,
      [changed.map(([outcome]) => outcome), changed.map(([, change]) => change)],
    );
  }

  note(kind: string, count = 1): void {
    if (count > 0) this.anomalies.set(kind, (this.anomalies.get(kind) ?? 0) + count);
  }
}

/**
 * Why the database refuses the data: SQLSTATE classes 22 (a value), 23 (a constraint), 54 (a limit) and P0 (a trigger).
 * Undefined for other errors, such as conflicts and lost connections, which no event causes.
 */
export function refusal(error: unknown): string | undefined {
  if (!(error instanceof DatabaseError) || !/^(22|23|54|P0)/.test(error.code ?? '')) return undefined;
  return [error.code, error.constraint ?? error.routine].filter(Boolean).join(' ');
}
