import { redactText } from '#platform/log/redact';

/** A wrong value. */
export interface Value {
  /** Table and column, or the value that was compared with the chain. */
  kind: string;
  /** Key of the row. */
  id: string;
  /** The stored value; null if there is none. */
  found: string | null;
  /** The right value by the ledger, the events or the chain; null if there should be none. */
  wanted: string | null;
}
export interface Difference extends Value {
  repaired: boolean;
}

/** A wrong value that only people can judge. */
export interface Doubt extends Value {
  /** Pools and draws of which nothing is derived again until they have; '*' for all. */
  subjects: string[];
}

export interface VerifyReport {
  complete: boolean;
  /** Reasons why something could not be compared. */
  notChecked: string[];
  seconds: number;
  completeness: Record<string, string>;
  /** Number of keys compared, by check, and of values compared with contracts, by kind. */
  checked: Record<string, number>;
  /** Number of differences by kind, including repaired ones. */
  differences: Record<string, number>;
  repaired: number;
  /** The first differences. */
  listed: Difference[];
}

/** Collects the differences of a run. Counts all of them and keeps the first ones, so that memory is bounded. */
export class Findings {
  private readonly checked = new Map<string, number>();
  private readonly counts = new Map<string, number>();
  private readonly listed: Difference[] = [];
  private readonly notChecked = new Set<string>();
  /** How it is known of each contract that no event is missing. */
  readonly completeness: Record<string, string> = {};
  private readonly start = Date.now();
  /** Pools and draws whose events are in doubt; '*' for all. Nothing is derived of these until a person has decided. */
  private readonly disputed = new Set<string>();
  /** Differences of the batch under way. */
  private batch: Difference[] = [];
  /** Repaired differences by table. */
  readonly repaired: Record<string, number> = {};

  constructor(private readonly limit: number) {}

  count(what: string, rows: number): void {
    this.checked.set(what, (this.checked.get(what) ?? 0) + rows);
  }

  add({ kind, id, found, wanted, repaired }: Difference): void {
    this.batch.push({ kind, id, found, wanted, repaired });
  }

  /** Ends a batch. @param isComplete false: it is compared again, so only its repaired differences count */
  take(isComplete = true): void {
    for (const each of this.batch.splice(0).filter(({ repaired }) => isComplete || repaired)) {
      this.counts.set(each.kind, (this.counts.get(each.kind) ?? 0) + 1);
      const [table] = each.kind.split('.');
      if (each.repaired) this.repaired[table] = (this.repaired[table] ?? 0) + 1;
      if (this.listed.length < this.limit) this.listed.push(each);
    }
  }

  skip(reason: string): void {
    // A node that does not answer gives a reason for each batch.
    if (this.notChecked.size < this.limit) this.notChecked.add(redactText(reason));
  }

  /** The ledger and the events are never repaired: only people can tell which of the two is wrong. */
  doubt(found: Doubt[]): void {
    for (const each of found) {
      each.subjects.forEach((subject) => this.disputed.add(subject));
      this.add({ ...each, repaired: false });
    }
  }

  isDisputed(subject: string): boolean {
    return this.disputed.has('*') || this.disputed.has(subject);
  }

  get hasDisputes(): boolean {
    return this.disputed.size > 0;
  }

  report(): VerifyReport {
    this.take();
    return {
      complete: this.notChecked.size === 0,
      notChecked: [...this.notChecked],
      seconds: (Date.now() - this.start) / 1000,
      completeness: this.completeness,
      checked: Object.fromEntries(this.checked),
      differences: Object.fromEntries(this.counts),
      repaired: Object.values(this.repaired).reduce((sum, count) => sum + count, 0),
      listed: this.listed,
    };
  }
}

/** 0: no difference is left; 1: there are differences; 2: there are none, but something could not be compared. */
export function exitCode({ complete, differences, repaired }: VerifyReport): 0 | 1 | 2 {
  const found = Object.values(differences).reduce((sum, count) => sum + count, 0);
  if (found > repaired) return 1;
  return complete ? 0 : 2;
}

/** The report for the terminal. */
export function asText(report: VerifyReport): string {
  const { completeness, checked, differences, repaired, listed, notChecked, seconds } = report;
  const found = Object.values(differences).reduce((sum, count) => sum + count, 0);
  const lines = [
    `checked in ${seconds.toFixed(1)} s: ${figures(checked)}`,
    found === 0 ? 'no difference' : `${found} differences, ${repaired} repaired: ${figures(differences)}`,
    ...listed.map(
      ({ kind, id, found: value, wanted, repaired: done }) =>
        `  ${kind} ${id}: is ${value ?? 'nothing'}, should be ${wanted ?? 'nothing'}${done ? ' (repaired)' : ''}`,
    ),
    ...(found > listed.length ? [`  and ${found - listed.length} more`] : []),
    ...Object.entries(completeness).map(([contract, how]) => `contract ${contract}: ${how}`),
    ...notChecked.map((reason) => `NOT CHECKED: ${reason}`),
  ];
  return `${lines.join('\n')}\n`;
}

const figures = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ') || 'nothing';
