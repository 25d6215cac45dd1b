import type { Pool, PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { isUnavailable } from './unavailable';

/** Statements that may wait to be sent, and for how long in ms; more would be answered too late anyway. */
const MAX_WAITING = 1000;
const PATIENCE = 1500;

interface Work {
  query: QueryConfig;
  callback: (error: Error | null, result?: QueryResult) => void;
  patience?: NodeJS.Timeout;
}

/** A connection of the pool while it has statements to run. */
interface Lane {
  /** Undefined while the pool connects. */
  client?: PoolClient;
  /** Sent and not answered. */
  statements: number;
  /** It gets no more statements, and closes when those it has are answered. */
  failed: boolean;
  release: (destroy: boolean) => void;
}

/**
 * Sends statements over few connections without waiting for the answers to those before (PostgreSQL's pipelining).
 * Under load one system call then carries several, and there are fewer processes to switch between, which costs more
 * than the statements themselves. Each is a transaction of its own and fails alone. Without load, a connection
 * carries one statement and goes back to the pool.
 */
export class Lanes {
  private lanes: Lane[] = [];
  private readonly queue: Work[] = [];

  constructor(
    private readonly pool: Pool,
    /** Connections at once. */
    private readonly width: number,
    /** Statements at once on each. */
    private readonly depth: number,
  ) {}

  /** Statements that are not sent yet. */
  get waiting(): number {
    return this.queue.length;
  }

  /** @returns the first row */
  run<Row extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      const work: Work = {
        query: { name, text, values },
        callback: (error, result) => (error ? reject(error) : resolve(result?.rows[0] as Row | undefined)),
      };
      const lane = this.lanes.length < this.width ? undefined : this.shortest();
      if (lane?.client && lane.statements < this.depth) this.send(lane, lane.client, work);
      else if (this.queue.length < MAX_WAITING) this.enqueue(work);
      else reject(new Error('too many waiting for a database connection'));
    });
  }

  /** So that a slow statement keeps few others waiting. */
  private shortest(): Lane | undefined {
    let best: Lane | undefined;
    for (const lane of this.lanes)
      if (lane.client && !lane.failed && !(best && best.statements <= lane.statements)) best = lane;
    return best;
  }

  private enqueue(work: Work): void {
    work.patience = setTimeout(() => {
      this.queue.splice(this.queue.indexOf(work), 1);
      work.callback(new Error('connection timeout: all are busy'));
    }, PATIENCE);
    this.queue.push(work);
    if (this.lanes.length < this.width) this.open();
  }

  private next(): Work | undefined {
    const work = this.queue.shift();
    clearTimeout(work?.patience);
    return work;
  }

  private open(): void {
    const lane: Lane = { statements: 0, failed: false, release: () => undefined };
    this.lanes.push(lane);
    // Callbacks, as the driver's promises around each of the two steps cost more than the steps.
    this.pool.connect((error, client, release) => {
      if (error || !client) {
        this.remove(lane);
        this.next()?.callback(error ?? new Error('no connection'));
        if (this.queue.length > 0) this.open();
        return;
      }
      const opening = this.lanes.filter((each) => !each.client).length;
      lane.client = client;
      lane.release = release;
      // The rest is for the lanes that are still connecting.
      this.fill(lane, client, Math.ceil(this.queue.length / opening));
    });
  }

  private fill(lane: Lane, client: PoolClient, most: number): void {
    for (let i = 0; i < most && lane.statements < this.depth; i++) {
      const work = this.next();
      if (work) this.send(lane, client, work);
    }
    if (lane.statements === 0) this.end(lane);
  }

  private send(lane: Lane, client: PoolClient, { query, callback }: Work): void {
    lane.statements++;
    client.query(query, (error: Error | null, result: QueryResult) => {
      lane.statements--;
      if (error && isUnavailable(error)) lane.failed = true;
      if (!lane.failed) this.fill(lane, client, 1);
      else if (lane.statements === 0) this.end(lane);
      callback(error, result);
    });
  }

  private end(lane: Lane): void {
    this.remove(lane);
    lane.release(lane.failed);
    if (this.queue.length > 0) this.open();
  }

  private remove(lane: Lane): void {
    this.lanes = this.lanes.filter((each) => each !== lane);
  }
}
