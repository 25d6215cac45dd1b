import type { Client, QueryResultRow } from 'pg';
import type { AskedChain } from '#verify/contract/holdings';
import { mending } from './connection';
import type { Findings } from './findings';

/** A stored value that differs from the recounted one. */
export interface Value {
  id: string;
  column: string;
  kept: string | null;
  recount: string | null;
}

export const unique = <T>(values: T[]): T[] => [...new Set(values)];
/** The first and the second words of keys, as parameters of a statement. */
export const halves = (keys: string[]): string[][] => [0, 1].map((i) => keys.map((key) => key.split(' ')[i]));

interface Options {
  /** Repair derived data. */
  repair: boolean;
  /** Whether a chain was read, so that its events must explain the ledger. */
  hasEvents: boolean;
  signal: AbortSignal;
  /** Undefined: do not compare with the chain. */
  chain?: AskedChain;
}

/** Time that one batch should take: long enough to be efficient, short enough not to delay requests. */
const TARGET_MS = 250;

/** The run was stopped before its end. */
export class Stopped extends Error {}

/** What checks share: a connection, the findings, and results that later checks need. */
export class Look {
  readonly mode: Options;
  /** Contracts that do not say how many events they have. */
  readonly unnumbered = new Set<string>();
  /** Whether a node was asked for the events; those that it reports otherwise are in doubt. */
  areEventsConfirmed = false;
  /** Blocks whose logs are not available. */
  readonly unreadable = new Set<string>();

  constructor(
    readonly client: Client,
    readonly findings: Findings,
    options: Partial<Options> = {},
  ) {
    const { signal } = new AbortController();
    this.mode = { repair: false, hasEvents: false, signal, ...options };
  }

  async rows<Row extends QueryResultRow>(text: string, ...values: unknown[]): Promise<Row[]> {
    return (await this.client.query<Row>(text, values)).rows;
  }

  /** The first column. */
  async column(text: string, ...values: unknown[]): Promise<string[]> {
    return (await this.rows<Record<string, string>>(text, ...values)).map((row) => Object.values(row)[0]);
  }

  /** Some thousand rows at a time, while the next ones are fetched. The caller's transaction keeps them from changing. */
  async *stream<Row extends QueryResultRow>(text: string, ...values: unknown[]): AsyncGenerator<Row[]> {
    const fetch = (): Promise<Row[]> => {
      const rows = this.rows<Row>('FETCH 5000 FROM verified');
      // The caller gets the error, unless it has stopped reading.
      rows.catch(() => undefined);
      return rows;
    };
    await this.client.query(`DECLARE verified NO SCROLL CURSOR FOR ${text}`, values);
    let next = fetch();
    for (let rows = await next; rows.length > 0; rows = await next) {
      next = fetch();
      yield rows;
    }
    await this.client.query('CLOSE verified');
  }

  /** Reads in one snapshot. */
  async reading<T>(work: () => Promise<T>): Promise<T> {
    await this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return work().finally(() => this.client.query('ROLLBACK'));
  }

  /** The planner's estimate of the rows of a table. */
  async estimate(table: string): Promise<number> {
    const text = 'SELECT greatest(reltuples, 1)::float8 FROM pg_class WHERE oid = $1::regclass';
    return Number((await this.column(text, table))[0]);
  }

  /** @param repair undefined if only a person can tell what is right */
  async report(table: string, found: Value[], repair?: () => Promise<unknown>): Promise<void> {
    if (found.length === 0) return;
    let mended = this.mode.repair && repair !== undefined;
    if (mended)
      await mending(this.client, repair!).catch((error: Error) => {
        mended = false;
        this.findings.skip(`${table} could not be mended: ${error.message}`);
      });
    for (const { id, column, kept, recount } of found)
      this.findings.add({ kind: `${table}.${column}`, id, found: kept, wanted: recount, mended });
  }

  /**
   * Takes steps until the end. The number of rows in a step follows from the time that the steps before took.
   * @param next takes the step after a position. @returns the next position, or nothing at the end
   */
  async goOn<Place>(
    first: Place,
    [start, most]: readonly [start: number, most: number],
    next: (after: Place, limit: number) => Promise<Place | null | undefined>,
  ): Promise<void> {
    let limit = start;
    for (let at: Place | null | undefined = first; at !== null && at !== undefined;) {
      if (this.mode.signal.aborted) throw new Stopped('stopped before the end');
      const begun = performance.now();
      at = await next(at, limit);
      const elapsed = performance.now() - begun;
      if (elapsed > 2 * TARGET_MS) limit = Math.max(1, limit >> 1);
      else if (elapsed < TARGET_MS / 2) limit = Math.min(most, limit * 2);
    }
  }
}

/** Keeps the indexer out: its transactions lock the cursor before they write. */
export const LOCK_CURSOR = 'SELECT FROM chain_cursor FOR UPDATE';
