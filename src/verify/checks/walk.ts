import type { Client } from 'pg';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Time that one batch should take: long enough to be efficient, short enough not to delay requests. */
const TARGET_MS = 250;
const MAX_KEYS = 5000;

/** Number of keys in a batch. It adapts to how long the last batch took. */
export class KeyBatchSize {
  constructor(
    private size = 50,
    private readonly largest = MAX_KEYS,
  ) {}

  get keys(): number {
    return this.size;
  }

  async timed<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await work();
    const elapsed = performance.now() - start;
    if (elapsed > 2 * TARGET_MS) this.size = Math.max(1, this.size >> 1);
    else if (elapsed < TARGET_MS / 2) this.size = Math.min(this.largest, this.size * 2);
    return result;
  }
}

/** The run was stopped before its end. */
export class Stopped extends Error {}

/** Goes over tables by key, some keys at a time. */
export class Walk {
  constructor(
    private readonly client: Client,
    private readonly signal: AbortSignal,
  ) {}

  /** @returns the number of keys */
  async everyKey(
    size: KeyBatchSize,
    next: (after: string, limit: number) => Promise<string[]>,
    work: (keys: string[]) => Promise<unknown>,
    first = FIRST_ID,
  ): Promise<number> {
    let after = first;
    for (let count = 0; ;) {
      this.throwIfStopped();
      const keys = await next(after, size.keys);
      if (keys.length === 0) return count;
      await size.timed(() => work(keys));
      count += keys.length;
      after = keys.at(-1)!;
    }
  }

  /** @param next what comes after a place, undefined at the end */
  async everyPlace<Place>(
    size: KeyBatchSize,
    first: Place,
    next: (after: Place, limit: number) => Promise<Place | undefined>,
  ): Promise<void> {
    for (let at: Place | undefined = first; at !== undefined;) {
      this.throwIfStopped();
      const from: Place = at;
      at = await size.timed(() => next(from, size.keys));
    }
  }

  async keys(text: string, ...values: unknown[]): Promise<string[]> {
    const { rows } = await this.client.query<Record<string, string>>(text, values);
    return rows.map((row) => Object.values(row)[0]);
  }

  /** The planner's estimate of the number of rows. */
  async estimate(table: string): Promise<number> {
    const text = 'SELECT greatest(reltuples, 1)::text FROM pg_class WHERE oid = $1::regclass';
    return Number((await this.keys(text, table))[0]);
  }

  throwIfStopped(): void {
    if (this.signal.aborted) throw new Stopped('stopped before the end');
  }
}
