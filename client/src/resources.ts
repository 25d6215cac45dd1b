import { DepositExpiredError, isSavingsError } from './errors.js';
import type { paths } from './schema.js';
import type * as Types from './types.js';
import type { Api, Page, RequestOptions } from './types.js';
import { randomKey, wait } from './wait.js';

type Reading<Path extends keyof paths> = NonNullable<paths[Path]['get']>;
type DataOf<Path extends keyof paths> =
  Reading<Path> extends { responses: { 200: { content: { 'application/json': { data: infer Data } } } } }
    ? Data
    : never;
type RowOf<Path extends keyof paths> = DataOf<Path> extends readonly (infer Row)[] ? Row : never;
type QueryOf<Path extends keyof paths> = NonNullable<Reading<Path>['parameters']['query']>;

type List<Query, T> = (query?: Query, options?: RequestOptions) => Promise<Page<T>>;

/** Endpoints of one subject. A path says what is sent and answered; the compiler takes that from the schema. */
class Resource {
  constructor(protected readonly api: Api) {}

  /** What there is only one of. */
  protected only<Path extends keyof paths>(path: Path) {
    return async (options?: RequestOptions): Promise<DataOf<Path>> =>
      (await this.read(path, {}, options)).data as DataOf<Path>;
  }

  /** One of several, by whatever the path calls it. */
  protected one<Path extends keyof paths>(path: Path) {
    return async (id: string, options?: RequestOptions): Promise<DataOf<Path>> =>
      (await this.read(path, { path: { id, hash: id } }, options)).data as DataOf<Path>;
  }

  /** A page of a list. */
  protected listOf<Path extends keyof paths>(path: Path, id?: string): List<QueryOf<Path>, RowOf<Path>> {
    return async (query, options) =>
      (await this.read(path, { query, path: { id } }, options)) as Page<RowOf<Path>>;
  }

  private async read(
    path: keyof paths,
    params: object,
    options?: RequestOptions,
  ): Promise<{ data: unknown }> {
    return (await this.api.GET(path as '/pools', { params, signal: options?.signal })).data!;
  }
}

/** Yields every item of a list and fetches pages as needed. If the list grows meanwhile, some items may repeat. */
async function* byPages<Query extends { page?: number; limit?: number }, T>(
  list: List<Query, T>,
  options?: RequestOptions,
): AsyncGenerator<T, void, undefined> {
  for (let page = 1; ; page++) {
    const { data, pagination } = await list({ limit: 100, page } as Query, options);
    yield* data;
    if (!pagination || page >= pagination.pages) return;
  }
}

/** The same with cursors: every page costs the same, however far into the list, and no item repeats. */
const byCursors = <Query extends { after?: string; limit?: number }, T>(list: List<Query, T>) =>
  async function* (
    query?: Omit<Query, 'page' | 'after'>,
    options?: RequestOptions,
  ): AsyncGenerator<T, void, undefined> {
    let after: string | undefined;
    do {
      const { data, next } = await list({ limit: 100, ...query, after } as Query, options);
      yield* data;
      after = next ?? undefined;
    } while (after !== undefined);
  };

const CONFIRMATION_POLL_MS = 2000;
/** An indexer that is behind may take longer than the limits bear at that pace. */
const MOST_CONFIRMATION_POLL_MS = 30_000;

export interface CreateOptions extends RequestOptions {
  /** The key of an earlier attempt whose outcome is unknown; a new key by default. */
  idempotencyKey?: string;
}

const at = (id: string): { path: { id: string } } => ({ path: { id } });

/** Pools that the caller owns or is a member of. */
export class Pools extends Resource {
  /** A page, newest pools first. */
  readonly list = this.listOf('/pools');
  /** All of them; pages are fetched as needed. */
  readonly all = byCursors(this.list);
  readonly get = this.one('/pools/{id}');
  readonly yieldReport = this.one('/pools/{id}/yield');
  /** The savings circle of a rotating pool, the caller's place in it, and what the caller can do. */
  readonly rounds = this.one('/pools/{id}/rounds');
  /** The caller's position in the pool. */
  readonly position = this.one('/pools/{id}/position');

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
   * wallet has enabled it at the contract: paying `startCompounding` does.
   */
  async update(
    id: string,
    body: Types.PoolChanges,
    { signal }: RequestOptions = {},
  ): Promise<Types.UpdatedPool> {
    return (await this.api.PATCH('/pools/{id}', { params: at(id), body, signal })).data!.data;
  }

  /** Ends the caller's membership. */
  async leave(id: string, { signal }: RequestOptions = {}): Promise<void> {
    await this.api.DELETE('/pools/{id}/membership', { params: at(id), signal });
  }
}

/** Deposits, withdrawals and claims that the caller may read. */
export class Transactions extends Resource {
  /** A page, newest first. */
  readonly list = this.listOf('/transactions');
  /** All of them; pages are fetched as needed. */
  readonly all = byCursors(this.list);
  /** By its id, which exists before the transaction is on the chain. */
  readonly byId = this.one('/transactions/by-id/{id}');
  /** By the hash of its chain transaction. */
  readonly byHash = this.one('/transactions/{hash}');

  /** @param onConfirmed called with what the service has seen on the chain */
  constructor(
    api: Api,
    private readonly onConfirmed?: (id: string) => unknown,
  ) {
    super(api);
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
}

export class Lottery extends Resource {
  /** The open draw. Throws `no_open_draw` while there is none. */
  readonly current = this.only('/lottery/current');
  readonly winners = this.listOf('/lottery/winners');
  /** The draws for which the caller has tickets. */
  readonly mine = this.listOf('/lottery/me');

  allWinners(options?: RequestOptions): AsyncGenerator<Types.Winner> {
    return byCursors(this.winners)({}, options);
  }

  allMine(options?: RequestOptions): AsyncGenerator<Types.DrawEntry> {
    return byPages(this.mine, options);
  }
}

/** The caller's figures over all pools. */
export class Account extends Resource {
  /** What a start page shows, in one request: the first page of each list, and a place in the stream of events. */
  readonly start = this.only('/users/me/start');
  readonly me = this.only('/users/me');
  /** A page of the caller's positions, newest pool first. */
  readonly positions = this.listOf('/users/me/positions');
  readonly analytics = this.only('/analytics/user');

  allPositions(options?: RequestOptions): AsyncGenerator<Types.Position> {
    return byPages(this.positions, options);
  }
}

/** Servers of the caller that the service tells what happens. `verifyWebhook` is for those servers. */
export class Webhooks extends Resource {
  readonly list = this.listOf('/webhooks');
  readonly get = this.one('/webhooks/{id}');

  /** The only answer with the secret, by which the server knows what comes from the service. */
  async create(body: Types.NewWebhook, { signal }: RequestOptions = {}): Promise<Types.CreatedWebhook> {
    return (await this.api.POST('/webhooks', { body, signal })).data!.data;
  }

  /** Changes what is given. */
  async update(
    id: string,
    body: Types.WebhookChanges,
    { signal }: RequestOptions = {},
  ): Promise<Types.Webhook> {
    return (await this.api.PATCH('/webhooks/{id}', { params: at(id), body, signal })).data!.data;
  }

  async delete(id: string, { signal }: RequestOptions = {}): Promise<void> {
    await this.api.DELETE('/webhooks/{id}', { params: at(id), signal });
  }

  /** A new secret. The one before signs too for a day. */
  async rotate(id: string, { signal }: RequestOptions = {}): Promise<Types.RotatedSecret> {
    return (await this.api.POST('/webhooks/{id}/secret', { params: at(id), signal })).data!.data;
  }

  /** Sends an event of the topic `test`, once. */
  async test(id: string, { signal }: RequestOptions = {}): Promise<Types.Delivery> {
    return (await this.api.POST('/webhooks/{id}/test', { params: at(id), signal })).data!.data;
  }

  /** Asks the server again whether it wants the events. */
  async challenge(id: string, { signal }: RequestOptions = {}): Promise<Types.Webhook> {
    return (await this.api.POST('/webhooks/{id}/challenge', { params: at(id), signal })).data!.data;
  }

  /** A page of what was and will be sent, that of the newest event first. */
  deliveries(
    id: string,
    query?: Types.DeliveriesQuery,
    options?: RequestOptions,
  ): Promise<Page<Types.Delivery>> {
    return this.listOf('/webhooks/{id}/deliveries', id)(query, options);
  }

  allDeliveries(id: string, options?: RequestOptions): AsyncGenerator<Types.Delivery> {
    return byPages(this.listOf('/webhooks/{id}/deliveries', id), options);
  }

  /** Sends a delivery again, at once. */
  async retry(id: string, delivery: string, { signal }: RequestOptions = {}): Promise<Types.Delivery> {
    const params = { path: { id, delivery } };
    return (await this.api.POST('/webhooks/{id}/deliveries/{delivery}/retry', { params, signal })).data!.data;
  }
}
