import type { SavingsClient } from './client.js';
import type { SavingsEvent } from './events.js';
import type { Follower } from './live/follower.js';
import { browserTabs } from './tabs.js';
import type * as Types from './types.js';
import type { Page, RequestOptions } from './types.js';

type Key = readonly unknown[];
type ReadOptions = Required<RequestOptions>;

interface Read {
  readonly queryKey: Key;
  readonly state: { readonly data: unknown; readonly fetchStatus: string };
}

/** The part of TanStack's `QueryClient` that is used. */
export interface Invalidating {
  invalidateQueries(filters: { queryKey: Key; predicate: (query: Read) => boolean }): Promise<unknown>;
}

const NAME = 'pooled-savings';
/** Events of one block come one after the other, and each read would end the one before it. */
const TOGETHER_MS = 150;

const next = ({ next }: Page<unknown>): string | undefined => next ?? undefined;
const nextPage = ({ pagination }: Page<unknown>): number | undefined =>
  pagination && pagination.page < pagination.pages ? pagination.page + 1 : undefined;

/**
 * Options of TanStack Query for each read: `useQuery(savingsQueries(client).pool(id))`, and `useInfiniteQuery` for lists,
 * whose pages are fetched as needed. Keys contain the account that is signed in, and reads fail once it is another one:
 * nobody sees what others have read.
 */
export function savingsQueries(client: SavingsClient) {
  const { api, pools, transactions, lottery, account, webhooks } = client;
  const own = <Options, T>(key: Key, read: (options: Options) => Promise<T>) => {
    const { address } = client.session.state;
    const check = (): void => {
      if (client.session.state.address !== address) throw new Error('another account is signed in');
    };
    return {
      queryKey: [NAME, address, ...key] as Key,
      queryFn: async (options: Options) => {
        check();
        const answer = await read(options);
        check();
        return answer;
      },
    };
  };
  const one = <T>(key: Key, read: (options: ReadOptions) => Promise<T>) =>
    own(key, ({ signal }: ReadOptions) => read({ signal }));
  const byCursor = <T>(
    key: Key,
    read: (after: string | undefined, options: ReadOptions) => Promise<Page<T>>,
  ) => ({
    ...own(key, ({ pageParam, signal }: ReadOptions & { pageParam: string | undefined }) =>
      read(pageParam, { signal }),
    ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: next,
  });
  const byPage = <T>(key: Key, read: (page: number, options: ReadOptions) => Promise<Page<T>>) => ({
    ...own(key, ({ pageParam, signal }: ReadOptions & { pageParam: number }) => read(pageParam, { signal })),
    initialPageParam: 1,
    getNextPageParam: nextPage,
  });
  return {
    config: () => one(['config'], () => client.config()),
    pools: (query: Omit<Types.PoolsQuery, 'page' | 'after'> = {}) =>
      byCursor(['pools', 'list', query], (after, options) => pools.list({ ...query, after }, options)),
    pool: (id: string) => one(['pools', id], (options) => pools.get(id, options)),
    yieldReport: (id: string) => one(['pools', id, 'yield'], (options) => pools.yieldReport(id, options)),
    rounds: (id: string) => one(['pools', id, 'rounds'], (options) => pools.rounds(id, options)),
    position: (id: string) => one(['pools', id, 'position'], (options) => pools.position(id, options)),
    transactions: (query: Omit<Types.TransactionsQuery, 'page' | 'after'> = {}) =>
      byCursor(['transactions', query], (after, options) => transactions.list({ ...query, after }, options)),
    transaction: (id: string) => one(['transactions', id], (options) => transactions.byId(id, options)),
    transactionOf: (hash: string) =>
      one(['transactions', hash], (options) => transactions.byHash(hash, options)),
    draw: () => one(['lottery', 'current'], (options) => lottery.current(options)),
    winners: (query: Omit<Types.WinnersQuery, 'page' | 'after'> = {}) =>
      byCursor(['lottery', 'winners', query], (after, options) =>
        lottery.winners({ ...query, after }, options),
      ),
    drawEntries: (query: Omit<Types.DrawEntriesQuery, 'page'> = {}) =>
      byPage(['lottery', 'mine', query], (page, options) => lottery.mine({ ...query, page }, options)),
    start: () => one(['account', 'start'], (options) => account.start(options)),
    me: () => one(['account', 'me'], (options) => account.me(options)),
    positions: (query: Omit<Types.PositionsQuery, 'page'> = {}) =>
      byPage(['account', 'positions', query], (page, options) =>
        account.positions({ ...query, page }, options),
      ),
    analytics: () => one(['account', 'analytics'], (options) => account.analytics(options)),
    /** What everyone may see, where the operator shows it. */
    totals: () => one(['totals'], async (options) => (await api.GET('/analytics/pools', options)).data!.data),
    webhooks: (query: Omit<Types.WebhooksQuery, 'page'> = {}) =>
      byPage(['webhooks', 'list', query], (page, options) => webhooks.list({ ...query, page }, options)),
    webhook: (id: string) => one(['webhooks', id], (options) => webhooks.get(id, options)),
    deliveries: (id: string, query: Omit<Types.DeliveriesQuery, 'page'> = {}) =>
      byPage(['webhooks', id, 'deliveries', query], (page, options) =>
        webhooks.deliveries(id, { ...query, page }, options),
      ),
  };
}

/**
 * Has queries read again what events have changed: those of the event's pool, or of lottery or webhooks, and what
 * belongs to the account. Others stay as they are. Everything is read again once the follower knows from where on it
 * hears of events, and nothing while nobody looks.
 * @returns what ends it
 */
export function invalidation(client: SavingsClient, follower: Follower, queries: Invalidating): () => void {
  let changed: Key[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const { page } = browserTabs();
  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (page?.visibilityState === 'hidden' || changed.length === 0) return;
    const queryKey = [NAME, client.session.state.address];
    const keys = changed;
    changed = [];
    // TanStack joins the first read of a query, which may have begun before the event.
    const joined = new Set<Read>();
    const predicate = (query: Read): boolean => {
      const [, , ...own] = query.queryKey;
      if (!keys.some((key) => key.every((part, at) => part === own[at]))) return false;
      if (query.state.data === undefined && query.state.fetchStatus === 'fetching') joined.add(query);
      return true;
    };
    await queries.invalidateQueries({ queryKey, predicate });
    if (joined.size > 0)
      await queries.invalidateQueries({ queryKey, predicate: (query) => joined.has(query) });
  };
  const look = (): void => void flush();
  const take = (event: SavingsEvent): void => {
    changed.push(...keysOf(event));
    timer ??= setTimeout(look, TOGETHER_MS);
  };
  const ended = new AbortController();
  const forget = follower.onEvent(take);
  follower
    .until(() => true, ended)
    .then(
      () => take({ topic: 'reload', id: null }),
      () => undefined,
    );
  page?.addEventListener('visibilitychange', look);
  return () => {
    forget();
    ended.abort();
    clearTimeout(timer);
    page?.removeEventListener('visibilitychange', look);
  };
}

function keysOf(event: SavingsEvent): Key[] {
  if (event.topic === 'reload') return [[]];
  if (event.topic.startsWith('webhook.')) return [['webhooks']];
  if ('drawId' in event) return [['lottery'], ['account']];
  const pool =
    'poolId' in event
      ? [
          ['pools', 'list'],
          ['pools', event.poolId],
        ]
      : [['pools']];
  return [...pool, ['transactions'], ['account'], ['totals']];
}
