import { DepositExpiredError, isSavingsError } from './errors.js';
import { byCursors, byPages } from './pages.js';
import { randomKey } from './random.js';
import type * as Types from './types.js';
import type { Api, Page, RequestOptions } from './types.js';
import { wait } from './wait.js';

const CONFIRMATION_POLL_MS = 2000;
/** An indexer that is behind may take longer than the limits bear at that pace. */
const MOST_CONFIRMATION_POLL_MS = 30_000;

export interface CreateOptions extends RequestOptions {
  /** The key of an earlier attempt whose outcome is unknown; a new key by default. */
  idempotencyKey?: string;
}

/** Pools that the caller owns or is a member of. */
export class Pools {
  constructor(private readonly api: Api) {}

  /** A page, newest pools first. */
  async list(query: Types.PoolsQuery = {}, { signal }: RequestOptions = {}): Promise<Page<Types.PoolItem>> {
    return (await this.api.GET('/pools', { params: { query }, signal })).data!;
  }

  /** All of them; pages are fetched as needed. */
  all(
    query: Omit<Types.PoolsQuery, 'page' | 'after'> = {},
    options?: RequestOptions,
  ): AsyncGenerator<Types.PoolItem> {
    return byCursors((after) => this.list({ limit: 100, ...query, after }, options));
  }

  async get(id: string, { signal }: RequestOptions = {}): Promise<Types.PoolDetail> {
    return (await this.api.GET('/pools/{id}', { params: { path: { id } }, signal })).data!.data;
  }

  async yieldReport(id: string, { signal }: RequestOptions = {}): Promise<Types.YieldReport> {
    return (await this.api.GET('/pools/{id}/yield', { params: { path: { id } }, signal })).data!.data;
  }

  /** The savings circle of a rotating pool, the caller's place in it, and what the caller can do. */
  async rounds(id: string, { signal }: RequestOptions = {}): Promise<Types.PoolRounds> {
    return (await this.api.GET('/pools/{id}/rounds', { params: { path: { id } }, signal })).data!.data;
  }

  /** The caller's position in the pool. */
  async position(id: string, { signal }: RequestOptions = {}): Promise<Types.Position> {
    return (await this.api.GET('/pools/{id}/position', { params: { path: { id } }, signal })).data!.data;
  }

  /**
   * Creates one pool, however many attempts it takes to get the answer. `depositId` is the deposit to pay. If the
   * outcome stays unknown, the error has the `idempotencyKey` for another attempt.
   */
  async create(
    body: Types.NewPool,
    { idempotencyKey = randomKey(), signal }: CreateOptions = {},
  ): Promise<Types.CreatedPool> {
    try {
      const header = { 'Idempotency-Key': idempotencyKey };
      return (await this.api.POST('/pools', { params: { header }, body, signal })).data!.data;
    } catch (error) {
      if (isSavingsError(error)) error.idempotencyKey = idempotencyKey;
      throw error;
    }
  }

  /**
   * Says whether the yield of a pool of the caller's is to be paid in again. `compounding` of the answer is whether the
   * wallet has enabled it at the contract: `setCompounding` does.
   */
  async update(
    id: string,
    body: Types.PoolChanges,
    { signal }: RequestOptions = {},
  ): Promise<Types.UpdatedPool> {
    return (await this.api.PATCH('/pools/{id}', { params: { path: { id } }, body, signal })).data!.data;
  }

  /** Ends the caller's membership. */
  async leave(id: string, { signal }: RequestOptions = {}): Promise<void> {
    await this.api.DELETE('/pools/{id}/membership', { params: { path: { id } }, signal });
  }
}

/** Deposits, withdrawals and claims that the caller may read. */
export class Transactions {
  constructor(
    private readonly api: Api,
    /** Called with what the service has seen on the chain. */
    private readonly onConfirmed?: (id: string) => unknown,
  ) {}

  /** A page, newest first. */
  async list(
    query: Types.TransactionsQuery = {},
    { signal }: RequestOptions = {},
  ): Promise<Page<Types.Transaction>> {
    return (await this.api.GET('/transactions', { params: { query }, signal })).data!;
  }

  /** All of them; pages are fetched as needed. */
  all(
    query: Omit<Types.TransactionsQuery, 'page' | 'after'> = {},
    options?: RequestOptions,
  ): AsyncGenerator<Types.Transaction> {
    return byCursors((after) => this.list({ limit: 100, ...query, after }, options));
  }

  /** By its id, which exists before the transaction is on the chain. */
  async byId(id: string, { signal }: RequestOptions = {}): Promise<Types.TransactionDetail> {
    return (await this.api.GET('/transactions/by-id/{id}', { params: { path: { id } }, signal })).data!.data;
  }

  /**
   * Waits until the service has seen the transaction on the chain, which may be a while after the wallet's receipt.
   * @throws DepositExpiredError, or the signal's reason
   */
  async confirmed(id: string, { signal }: RequestOptions = {}): Promise<Types.TransactionDetail> {
    for (let pauseMs = CONFIRMATION_POLL_MS; ; pauseMs = Math.min(MOST_CONFIRMATION_POLL_MS, pauseMs * 1.5)) {
      const transaction = await this.byId(id, { signal });
      if (transaction.status === 'CONFIRMED') {
        this.onConfirmed?.(id);
        return transaction;
      }
      if (transaction.status === 'EXPIRED') throw new DepositExpiredError(id);
      await wait(pauseMs, signal);
    }
  }

  /** By the hash of its chain transaction. */
  async byHash(hash: string, { signal }: RequestOptions = {}): Promise<Types.TransactionDetail> {
    return (await this.api.GET('/transactions/{hash}', { params: { path: { hash } }, signal })).data!.data;
  }
}

export class Lottery {
  constructor(private readonly api: Api) {}

  /** The open draw. Throws `no_open_draw` while there is none. */
  async current({ signal }: RequestOptions = {}): Promise<Types.CurrentDraw> {
    return (await this.api.GET('/lottery/current', { signal })).data!.data;
  }

  async winners(
    query: Types.WinnersQuery = {},
    { signal }: RequestOptions = {},
  ): Promise<Page<Types.Winner>> {
    return (await this.api.GET('/lottery/winners', { params: { query }, signal })).data!;
  }

  allWinners(options?: RequestOptions): AsyncGenerator<Types.Winner> {
    return byCursors((after) => this.winners({ limit: 100, after }, options));
  }

  /** The draws for which the caller has tickets. */
  async mine(
    query: Types.DrawEntriesQuery = {},
    { signal }: RequestOptions = {},
  ): Promise<Page<Types.DrawEntry>> {
    return (await this.api.GET('/lottery/me', { params: { query }, signal })).data!;
  }

  allMine(options?: RequestOptions): AsyncGenerator<Types.DrawEntry> {
    return byPages((page) => this.mine({ limit: 100, page }, options));
  }
}

/** The caller's figures over all pools. */
export class Account {
  constructor(private readonly api: Api) {}

  /** What a start page shows, in one request: the first page of each list, and a place in the stream of events. */
  async start({ signal }: RequestOptions = {}): Promise<Types.Start> {
    return (await this.api.GET('/users/me/start', { signal })).data!.data;
  }

  async me({ signal }: RequestOptions = {}): Promise<Types.Me> {
    return (await this.api.GET('/users/me', { signal })).data!.data;
  }

  /** A page of the caller's positions, newest pool first. */
  async positions(
    query: Types.PositionsQuery = {},
    { signal }: RequestOptions = {},
  ): Promise<Page<Types.Position>> {
    return (await this.api.GET('/users/me/positions', { params: { query }, signal })).data!;
  }

  allPositions(options?: RequestOptions): AsyncGenerator<Types.Position> {
    return byPages((page) => this.positions({ limit: 100, page }, options));
  }

  async analytics({ signal }: RequestOptions = {}): Promise<Types.UserAnalytics> {
    return (await this.api.GET('/analytics/user', { signal })).data!.data;
  }
}
