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
  const ofId =
    <T>(key: (id: string) => Key, read: (id: string, options: ReadOptions) => Promise<T>) =>
    (id: string) =>
      one(key(id), (options) => read(id, options));
  const paged =
    <Param>(name: string, first: Param, nextOf: (page: Page<unknown>) => Param | undefined) =>
    <Query, T>(key: Key, list: (query: Query, options: ReadOptions) => Promise<Page<T>>) =>
    (query?: Omit<Query, 'page' | 'after'>) => ({
      ...own([...key, query ?? {}], ({ pageParam, signal }: ReadOptions & { pageParam: Param }) =>
        list({ ...query, [name]: pageParam } as Query, { signal }),
      ),
      initialPageParam: first,
      getNextPageParam: nextOf,
    });
  const byCursor = paged<string | undefined>('after', undefined, ({ next }) => next ?? undefined);
  const byPage = paged('page', 1, ({ pagination }) =>
    pagination && pagination.page < pagination.pages ? pagination.page + 1 : undefined,
  );
  return {
    config: () => one(['config'], () => client.config()),
    pools: byCursor(['pools', 'list'], pools.list),
    pool: ofId((id) => ['pools', id], pools.get),
    yieldReport: ofId((id) => ['pools', id, 'yield'], pools.yieldReport),
    rounds: ofId((id) => ['pools', id, 'rounds'], pools.rounds),
    position: ofId((id) => ['pools', id, 'position'], pools.position),
    transactions: byCursor(['transactions'], transactions.list),
    transaction: ofId((id) => ['transactions', id], transactions.byId),
    transactionOf: ofId((hash) => ['transactions', hash], transactions.byHash),
    draw: () => one(['lottery', 'current'], lottery.current),
    winners: byCursor(['lottery', 'winners'], lottery.winners),
    drawEntries: byPage(['lottery', 'mine'], lottery.mine),
    start: () => one(['account', 'start'], account.start),
    me: () => one(['account', 'me'], account.me),
    positions: byPage(['account', 'positions'], account.positions),
    analytics: () => one(['account', 'analytics'], account.analytics),
    /** What everyone may see, where the operator shows it. */
    totals: () => one(['totals'], async (options) => (await api.GET('/analytics/pools', options)).data!.data),
    webhooks: byPage(['webhooks', 'list'], webhooks.list),
    webhook: ofId((id) => ['webhooks', id], webhooks.get),
    deliveries: (id: string, query?: Omit<Types.DeliveriesQuery, 'page'>) =>
      byPage(['webhooks', id, 'deliveries'], (of: Types.DeliveriesQuery, options) =>
        webhooks.deliveries(id, of, options),
      )(query),
  };
}

/**
 * Has queries read again what events have changed: those of the event's pool, or of lottery or webhooks, and what
 * belongs to the account. Others stay as they are. Everything is read again once the follower knows from where on it
 * hears of events, and nothing while nobody looks.
 * @returns what ends it
 */
export function invalidation(client: SavingsClient, follower: Follower, queries: Invalidating): () => void {
  // By their text: a hidden tab may hear of thousands of events.
  const changed = new Map<string, Key>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const { page } = browserTabs();
  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (page?.visibilityState === 'hidden' || changed.size === 0) return;
    const queryKey = [NAME, client.session.state.address];
    const keys = [...changed.values()];
    changed.clear();
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
    for (const key of keysOf(event)) changed.set(JSON.stringify(key), key);
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
