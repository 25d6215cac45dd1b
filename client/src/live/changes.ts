import type { EventPayload } from '../events.js';
import type { PoolItem, Position, Start, Transaction } from '../types.js';

/**
 * What events do to what is shown. Each ends with undefined where it would have to guess: then it is read. What they
 * make is what the service would answer, but for the time of a pool's last change and the block of positions.
 */
type Movement = EventPayload<'deposit.confirmed' | 'withdrawal.confirmed' | 'yield.claimed'>;
type Summary = PoolItem['recentTransactions'][number];

const MOST_RECENT = 10;
const MOST_TRANSACTIONS = 8;

const sum = (amount: string, more: bigint): string => (BigInt(amount) + more).toString();

/** The transaction of a deposit was sent, or taken back. */
export function submitted(
  start: Start,
  event: { transactionId: string; txHash: string | null; occurredAt: string },
): Start {
  const { transactionId, txHash: hash, occurredAt: at } = event;
  return withTransaction(start, transactionId, { submitted: hash === null ? null : { hash, at } });
}

/** A deposit was paid: one that was announced, or a new one. */
export function deposited(start: Start, event: EventPayload<'deposit.confirmed'>): Start | undefined {
  const amount = BigInt(event.amount);
  const pool = start.pools.data.find(({ id }) => id === event.poolId);
  const announced = announcedBy(start, pool, event.transactionId);
  if (!announced) {
    if (!pool || pool.balance === '0') return undefined;
    // An older one may have been announced before what is known, or have expired.
    const { recentTransactions: recent } = pool;
    if (recent.length === MOST_RECENT && event.transactionId < recent.at(-1)!.id) return undefined;
    const counted = mine(added(start, event), event, { deposited: amount, day: event.occurredAt });
    return counted && held(moved(counted, event, amount), event, 'deposited', amount);
  }
  const isThatOne =
    announced.status === 'PENDING' && announced.amount === event.amount && announced.from === event.account;
  if (!pool || !isThatOne) return undefined;
  const { transactionId: id, txHash, blockNumber, occurredAt } = event;
  const status = 'CONFIRMED';
  const paid = withTransaction(start, id, { status, txHash, submitted: null }, { blockNumber });
  const pendingBalance = sum(pool.pendingBalance, -amount);
  const changed = withPool(paid, pool.id, { pendingBalance, lastUpdate: occurredAt });
  const counted = mine(changed, event, { pending: -amount, day: announced.createdAt });
  return counted && held(counted, event, 'deposited', amount);
}

export function withdrawn(start: Start, event: EventPayload<'withdrawal.confirmed'>): Start | undefined {
  const amount = BigInt(event.amount);
  const pool = start.pools.data.find(({ id }) => id === event.poolId);
  if (!pool || BigInt(pool.balance) <= amount) return undefined;
  return held(moved(added(start, event), event, -amount), event, 'withdrawn', amount);
}

export function claimed(start: Start, event: EventPayload<'yield.claimed'>): Start | undefined {
  const amount = BigInt(event.amount);
  const pool = start.pools.data.find(({ id }) => id === event.poolId);
  if (!pool) return undefined;
  const counted = mine(added(start, event), event, { claimed: amount, day: event.occurredAt });
  return counted && held(moved(counted, event, 0n), event, 'claimed', amount);
}

/** Nobody has paid what was announced. */
export function expired(start: Start, event: EventPayload<'deposit.expired'>): Start | undefined {
  const amount = BigInt(event.amount);
  const pool = start.pools.data.find(({ id }) => id === event.poolId);
  const announced = announcedBy(start, pool, event.transactionId);
  if (!pool || announced?.status !== 'PENDING' || BigInt(pool.balance) <= amount) return undefined;
  const gone = withTransaction(start, event.transactionId, { status: 'EXPIRED', submitted: null });
  const changed = withPool(gone, pool.id, {
    balance: sum(pool.balance, -amount),
    pendingBalance: sum(pool.pendingBalance, -amount),
    lastUpdate: event.occurredAt,
  });
  return mine(changed, event, { deposited: -amount, pending: -amount, day: announced.createdAt });
}

/** A draw sells no more tickets. */
export function closed(start: Start, event: EventPayload<'draw.closed'>): Start {
  const isIt = ({ drawId, contract }: { drawId: number; contract: string }): boolean =>
    drawId === event.drawId && contract === event.contract;
  const status = 'DRAWING' as const;
  const entries = start.entries.data.map((each) => (isIt(each) ? { ...each, status } : each));
  const draw = start.draw && isIt(start.draw) ? { ...start.draw, status } : start.draw;
  return { ...start, draw, entries: { ...start.entries, data: entries } };
}

const announcedBy = (start: Start, pool: PoolItem | undefined, id: string): Summary | undefined =>
  pool?.recentTransactions.find((each) => each.id === id) ??
  start.transactions.data.find((each) => each.id === id);

function withPool(start: Start, id: string, fields: Partial<PoolItem>): Start {
  const data = start.pools.data.map((each) => (each.id === id ? { ...each, ...fields } : each));
  return { ...start, pools: { ...start.pools, data } };
}

/** A transaction that is known already, in both lists. */
function withTransaction(start: Start, id: string, both: object, ofList: object = {}): Start {
  const transactions = start.transactions.data.map((each) =>
    each.id === id ? { ...each, ...both, ...ofList } : each,
  );
  const pools = start.pools.data.map((pool) => {
    if (!pool.recentTransactions.some((each) => each.id === id)) return pool;
    const recent = pool.recentTransactions.map((each) => (each.id === id ? { ...each, ...both } : each));
    return { ...pool, recentTransactions: recent };
  });
  return {
    ...start,
    transactions: { ...start.transactions, data: transactions },
    pools: { ...start.pools, data: pools },
  };
}

/** A transaction that was not known. Lists are in the order of ids, the greatest first. */
function added(start: Start, event: Movement): Start {
  const { transactionId: id, transactionType: type, amount, txHash, blockNumber, occurredAt } = event;
  const summary = {
    ...{ id, type, amount, txHash, status: 'CONFIRMED' as const, submitted: null },
    ...{ createdAt: occurredAt, from: event.account },
  };
  const item: Transaction = { ...summary, poolId: event.poolId, blockNumber };
  const before = ({ id: a }: { id: string }, { id: b }: { id: string }): number => (a < b ? 1 : -1);
  const { data, pagination } = start.transactions;
  const total = pagination.total + 1;
  const pages = Math.ceil(total / pagination.limit);
  const pool = start.pools.data.find((each) => each.id === event.poolId);
  const recent = [summary, ...(pool?.recentTransactions ?? [])].sort(before).slice(0, MOST_RECENT);
  const transactions = {
    data: [item, ...data].sort(before).slice(0, MOST_TRANSACTIONS),
    pagination: { ...pagination, total, pages },
  };
  return withPool({ ...start, transactions }, event.poolId, { recentTransactions: recent });
}

/** Money came into a pool, or left it. */
function moved(start: Start, event: Movement, amount: bigint): Start {
  const pool = start.pools.data.find(({ id }) => id === event.poolId)!;
  return withPool(start, pool.id, { balance: sum(pool.balance, amount), lastUpdate: event.occurredAt });
}

/** What the caller holds in a pool. */
function held(
  start: Start,
  event: Movement,
  what: 'deposited' | 'withdrawn' | 'claimed',
  amount: bigint,
): Start | undefined {
  const { account, poolId } = event;
  if (account !== start.user.address) return start;
  const { data } = start.positions;
  const position = data.find((each) => each.poolId === poolId);
  // What a first payment can earn depends on the contract.
  if (!position) return undefined;
  const signs = {
    deposited: ['balance', 1n],
    withdrawn: ['balance', -1n],
    claimed: ['claimable', -1n],
  } as const;
  const [field, sign] = signs[what];
  const next: Position = {
    ...position,
    [what]: sum(position[what], amount),
    // Where only the contract knows what can be claimed, it stays unknown.
    [field]: position[field] === null ? null : sum(position[field], sign * amount),
  };
  const positions = data.map((each) => (each === position ? next : each));
  return { ...start, positions: { ...start.positions, data: positions } };
}

/** The caller's figures, if it is the caller's movement. Those of other tokens than the first are read. */
function mine(
  start: Start,
  { account, poolId }: { account: string; poolId: string },
  {
    deposited = 0n,
    pending = 0n,
    claimed = 0n,
    day,
  }: { deposited?: bigint; pending?: bigint; claimed?: bigint; day: string },
): Start | undefined {
  if (account !== start.user.address) return start;
  const pool = start.pools.data.find(({ id }) => id === poolId);
  if (!pool || start.otherContracts.includes(pool.contractAddress)) return undefined;
  const { analytics, user } = start;
  const { deposits, yields } = analytics.chartData;
  return {
    ...start,
    user: { ...user, totalDeposits: sum(user.totalDeposits, deposited) },
    analytics: {
      ...analytics,
      totalDeposited: sum(analytics.totalDeposited, deposited),
      pendingDeposits: sum(analytics.pendingDeposits, pending),
      yieldEarned: sum(analytics.yieldEarned, claimed),
      chartData: { deposits: onDay(deposits, day, deposited), yields: onDay(yields, day, claimed) },
    },
  };
}

type Days = Start['analytics']['chartData']['deposits'];

/** Days in their order, those without an amount left out. */
function onDay(days: Days, time: string, amount: bigint): Days {
  if (amount === 0n) return days;
  const date = time.slice(0, 10);
  const known = days.find((each) => each.date === date);
  const next = { date, amount: sum(known?.amount ?? '0', amount) };
  return [...days.filter((each) => each !== known), next]
    .filter((each) => each.amount !== '0')
    .sort((a, b) => (a.date < b.date ? -1 : 1));
}
