import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { POOL_TYPES, type PoolType } from '#values/types';
import { TEN } from '../support/app';
import { type Fleet } from '../support/processes/fleet';
import { eventually } from '../support/processes/processes';
import { type Wallet } from '../support/wallet';
import { type Answer, type Caller, HttpClient, signIn } from './http';

/** How long a client waits before it retries. */
const BACKOFF_MS = 20;

/**
 * Clients that create pools one after another and record what was acknowledged. Every pool has a unique amount, which
 * identifies it. Requests without a 201 are repeated with the same Idempotency-Key at the next replica.
 */
export class Depositors {
  /** Amount by pool id. */
  readonly acknowledged: Map<string, string>;
  readonly failures: Answer[] = [];
  /** Those of requests that had not been sent before. */
  readonly firstFailures: Answer[] = [];
  /** URLs of the replicas, in order. */
  readonly acknowledgedBy: number[];
  requests = 0;
  private readonly clients: HttpClient[];
  private callers: Caller[] = [];
  private stopping = false;
  private work: Promise<unknown> = Promise.resolve();
  private next: bigint;

  /** @param earlier what the same database acknowledged before */
  constructor(
    private readonly fleet: Fleet,
    earlier?: Depositors,
  ) {
    this.acknowledged = new Map(earlier?.acknowledged);
    this.next = earlier?.next ?? 0n;
    this.clients = fleet.urls.map((url) => new HttpClient(url));
    this.acknowledgedBy = fleet.urls.map(() => 0);
  }

  async start(count = 6): Promise<void> {
    for (let i = 0; i < count; i++)
      this.callers.push(await signIn(this.clients[i % this.clients.length], this.wallet(i)));
    this.work = Promise.all(this.callers.map((caller, index) => this.deposit(caller, index)));
  }

  /** Waits for that many more acknowledged pools, at most `limit` ms. */
  async progress(count: number, limit?: number): Promise<void> {
    const goal = this.acknowledged.size + count;
    await eventually(() => this.acknowledged.size >= goal, limit);
  }

  /** Waits until every client has its answer. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.work;
    for (const client of this.clients) client.close();
  }

  /** That of a client, if it is not to be a new one. */
  protected wallet(_index: number): Wallet | undefined {
    return undefined;
  }

  /** What a client does with its pool before it creates the next one. */
  protected async created(_pool: Created, _caller: Caller, _index: number): Promise<void> {}

  private async deposit(caller: Caller, index: number): Promise<void> {
    const { token } = caller;
    for (let turn = index; !this.stopping && !this.fleet.stopped;) {
      const amount = (BigInt(TEN) + this.next++).toString();
      const body = {
        type: POOL_TYPES[Number(this.next % BigInt(POOL_TYPES.length))],
        initialDeposit: amount,
      };
      const headers = { 'idempotency-key': randomUUID() };
      const earlier: Answer[] = [];
      while (!this.fleet.stopped) {
        const replica = turn++ % this.clients.length;
        this.requests++;
        const begun = Date.now();
        const answer = await this.clients[replica].send('/pools', { method: 'POST', body, token, headers });
        if (answer.status === 201) {
          this.acknowledged.set(answer.body.data.id as string, amount);
          this.acknowledgedBy[replica]++;
          await this.created({ ...answer.body.data, begun, earlier } as Created, caller, index);
          break;
        }
        this.failures.push(answer);
        if (!earlier.length) this.firstFailures.push(answer);
        earlier.push(answer);
        await wait(BACKOFF_MS);
      }
    }
  }
}

/** Whether it says that an earlier try of the same request is still running on the server. */
export const isOverlap = ({ status, body }: Answer): boolean =>
  status === 409 && body.code === 'idempotency_in_progress';

/** What POST /pools answered, when the request with this answer began, in ms since 1970, and the answers before it. */
export interface Created {
  id: string;
  type: PoolType;
  depositId: string;
  balance: string;
  createdAt: string;
  begun: number;
  earlier: Answer[];
}

export interface Audit {
  /** Acknowledged pools without exactly one pool, one DEPOSIT and one owner in the database. */
  lost: number;
  /** Pools that exist twice for the same request. */
  duplicated: number;
  /** Pools without exactly one DEPOSIT of their balance, or without exactly one owner. */
  half: number;
  /** Pools that were never acknowledged. */
  unknown: number;
  /** Whether the totals are the sums of the ledger. */
  totalsRight: boolean;
}

/**
 * Compares the database with what the clients were told.
 * @param paid pools whose deposit the chain has, and the indexer must have confirmed
 */
export async function audit(
  fleet: Fleet,
  { acknowledged }: Depositors,
  paid: Iterable<string> = [],
): Promise<Audit> {
  const [found] = await fleet.sql<Audit>(
    `
    WITH told AS (SELECT * FROM unnest($1::uuid[], $2::numeric[]) AS t (id, amount)),
    state AS (
      SELECT p.id, p.balance,
        (SELECT count(*) FROM transactions t WHERE t.pool_id = p.id) AS transactions,
        (SELECT count(*) FROM transactions t WHERE t.pool_id = p.id
          AND t.type = 'DEPOSIT' AND t.amount = p.balance
          AND t.status = CASE WHEN p.id = ANY ($3::uuid[]) THEN 'CONFIRMED' ELSE 'PENDING' END) AS deposits,
        (SELECT count(*) FROM pool_members m WHERE m.pool_id = p.id AND m.role = 'OWNER') AS owners
      FROM pools p
    ),
    whole AS (SELECT * FROM state WHERE transactions = 1 AND deposits = 1 AND owners = 1)
    SELECT
      (SELECT count(*)::int FROM told WHERE NOT EXISTS
        (SELECT FROM whole WHERE whole.id = told.id AND whole.balance = told.amount)) AS lost,
      (SELECT count(*)::int - count(DISTINCT balance)::int FROM pools) AS duplicated,
      (SELECT count(*)::int FROM state) - (SELECT count(*)::int FROM whole) AS half,
      (SELECT count(*)::int FROM pools WHERE NOT EXISTS (SELECT FROM told WHERE told.id = pools.id)) AS unknown,
      (SELECT sum(pools) FROM pool_totals) = (SELECT count(*) FROM pools)
        AND (SELECT sum(deposited) FROM pool_totals) = (SELECT sum(amount) FROM transactions)
        AND (SELECT sum(deposited) FROM account_days) = (SELECT sum(amount) FROM transactions) AS "totalsRight"`,
    [[...acknowledged.keys()], [...acknowledged.values()], [...paid]],
  );
  return found;
}

/** The result of an audit without findings. */
export const INTACT: Audit = { lost: 0, duplicated: 0, half: 0, unknown: 0, totalsRight: true };
