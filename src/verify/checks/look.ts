import type { Client, QueryResultRow } from 'pg';
import type { AskedChain } from '#verify/contract/holdings';
import { repairing } from './connection';
import type { Findings, Value } from './findings';

export const unique = <T>(values: T[]): T[] => [...new Set(values)];
/** The first words of keys, as parameters of a statement. */
export const wordsOf = (keys: string[], count = 2): string[][] =>
  Array.from({ length: count }, (_, i) => keys.map((key) => key.split(' ')[i]));

interface Options {
  /** Repair derived data. */
  repair: boolean;
  signal: AbortSignal;
  /** Undefined: do not compare with the chain. */
  chain?: AskedChain;
}

/** The run was stopped before its end. */
export class Stopped extends Error {}

/** What checks share: a connection, the findings, and results that later checks need. */
export class Look {
  readonly mode: Options;
  /** Contracts that do not say how many events they have. */
  readonly unnumbered = new Set<string>();
  /** Blocks whose logs are not available. */
  readonly unreadable = new Set<string>();

  constructor(
    readonly client: Client,
    readonly findings: Findings,
    options: Partial<Options> = {},
  ) {
    this.mode = { repair: false, signal: new AbortController().signal, ...options };
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

  /**
   * @param repair writes rows; undefined if only a person can decide what is right
   * @param by how many words of an id name the row; all of them, if left out
   * @param isClear whether a row may be repaired
   */
  async report(
    found: Value[],
    repair?: (rows: string[]) => Promise<unknown>,
    by?: number,
    isClear: (row: string) => boolean = () => true,
  ): Promise<void> {
    const rowOf = ({ id }: Value): string => id.split(' ').slice(0, by).join(' ');
    const rows = this.mode.repair && repair ? unique(found.map(rowOf)).filter(isClear) : [];
    const repaired = new Set(rows);
    if (rows.length > 0)
      await repairing(this.client, () => repair!(rows)).catch((error: Error) => {
        repaired.clear();
        const tables = unique(found.map(({ kind }) => kind.split('.')[0])).join(', ');
        this.findings.skip(`${tables} could not be repaired: ${error.message}`);
      });
    for (const each of found) this.findings.add({ ...each, repaired: repaired.has(rowOf(each)) });
  }
}

/** Keeps the indexer out: its transactions lock the cursor before they write. Row: the last block that takes effect. */
export const LOCK_CURSOR = 'SELECT applied_number AS effective FROM chain_cursor FOR UPDATE';
/** Every change to a pool's ledger locks its row, so later changes see what is written here. Parameter: pool ids. */
export const LOCK_POOLS = 'SELECT FROM pools WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE';
