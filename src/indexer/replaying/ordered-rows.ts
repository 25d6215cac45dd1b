import type { Client } from 'pg';

/** Columns as text; the first is the key by which the rows are sorted. */
export type Row = [key: string, ...columns: (string | null)[]];

/** Rows that are in the process at a time, twice: those in use, and those that are on their way meanwhile. */
const FETCHED = 5000;

interface Fetched {
  rows: Row[];
}

/** The queries of one connection, one after another. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly client: Client) {}

  fetch(text: string): Promise<Fetched> {
    const fetched = this.last.then(() => this.client.query<Row>({ text, rowMode: 'array' }));
    this.last = fetched.catch(() => undefined);
    return fetched;
  }

  /** @throws what the database throws */
  async declare(name: string, text: string, values: unknown[]): Promise<void> {
    await this.last;
    await this.client.query(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`, values);
  }

  /** Nothing that was asked for is on its way any more. */
  async idle(): Promise<void> {
    await this.last;
  }
}

/** A query that is sorted by its first column, read piece by piece. Its transaction has to stay open. */
export class OrderedRows {
  private rows: Row[] = [];
  private at = 0;
  private coming?: Promise<Fetched>;

  private constructor(
    private readonly turns: Turns,
    private readonly name: string,
  ) {}

  static async open(turns: Turns, name: string, text: string, values: unknown[] = []): Promise<OrderedRows> {
    await turns.declare(name, text, values);
    return new OrderedRows(turns, name);
  }

  /** Asks for the first rows, so that queries of several connections run at once. */
  begin(): void {
    this.coming = this.fetch();
    this.coming.catch(() => undefined);
  }

  /** The key of the next row; undefined behind the last one. */
  async key(): Promise<string | undefined> {
    if (this.at === this.rows.length) await this.fill();
    return this.rows[this.at]?.[0];
  }

  /** Hands over the rows of this key, if it is that of the next row. @returns how many: `most`, if there may be more */
  async each(key: string, use: (row: Row) => void, most = Infinity): Promise<number> {
    for (let count = 0; ;) {
      for (; this.at < this.rows.length; this.at += 1, count += 1) {
        const row = this.rows[this.at];
        if (row[0] !== key || count === most) return count;
        use(row);
      }
      if (!(await this.fill())) return count;
    }
  }

  private async fill(): Promise<boolean> {
    ({ rows: this.rows } = await (this.coming ?? this.fetch()));
    this.at = 0;
    this.coming = this.rows.length > 0 ? this.fetch() : Promise.resolve({ rows: [] });
    // A caller that waits for it gets the error; nobody may, after another query has failed.
    this.coming.catch(() => undefined);
    return this.rows.length > 0;
  }

  private fetch(): Promise<Fetched> {
    return this.turns.fetch(`FETCH ${FETCHED} FROM ${this.name}`);
  }
}
