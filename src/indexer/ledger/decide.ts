import type { CircleKind, DrawKind, Kind, PoolKind } from '#ledger/adapters/happening';
import { type ChainEvent, NOTHING, transactionId } from '#indexer/reading/decode';
import { MOVEMENTS } from '#indexer/reading/money';
import { isShareKind } from './movements';

/** State of an event. All but WAITING and APPLIED are set aside: stored, but without effect. */
export type EventOutcome = 'WAITING' | 'APPLIED' | 'UNKNOWN_POOL' | 'OVERDRAW' | 'REFUSED' | 'FAILED';

/** A deposit that the API announced and that no event has confirmed yet. */
export interface Announced {
  id: string;
  account: string;
  /** The announced amount, in the token's smallest unit. */
  requested: string;
  /** The transaction that its payer submitted as its payment. */
  hash?: string | null;
}

/** What the decisions about a pool's events depend on. Ids are 32 hex digits. */
export interface PoolState {
  contract: string;
  ownerId: string;
  owner: string;
  /** The number of its circle at the contract; null while it has none. */
  circle: string | null;
  /** Balance on the chain: confirmed deposits less withdrawals. */
  balance: bigint;
  /** Oldest first. */
  announced: Announced[];
}

/** An event, and its outcome if one is already stored. */
export interface Item {
  event: ChainEvent;
  before?: EventOutcome;
  /** Its row in `transactions`. */
  transactionId?: string | null;
}

export interface Decision extends Item {
  outcome: EventOutcome;
  reason?: string;
  /** The row in `transactions` that it creates or, if `matched`, confirms. */
  transactionId?: string;
  matched?: Announced;
  pool?: PoolState;
}

export interface Rules {
  /** Events of later blocks wait. */
  effective: number;
  lotteries: ReadonlySet<string>;
  /** Events that wait until earlier ones of their pools are in: of pools that appeared late, and had many. */
  later?: ReadonlySet<ChainEvent>;
}

/** JavaScript cannot read larger ids from JSON exactly. */
const LARGEST_ID = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * What an event of a draw changes: the sums of its account, or the stage, which follows from the few events that set it.
 * A draw that is opened is made from all its events, as some may have come before.
 */
export const DRAW_CHANGES = {
  DrawOpened: 'draw',
  TicketsIssued: 'tickets',
  PrizeFunded: 'paidIn',
  Refunded: 'refunded',
  DrawClosed: 'stage',
  DrawCompleted: 'stage',
  DrawCancelled: 'stage',
  PrizePaid: 'stage',
} as const satisfies Record<DrawKind, 'draw' | 'tickets' | 'paidIn' | 'refunded' | 'stage'>;

/** The events of a circle. */
export const CIRCLE_KINDS = {
  CircleOpened: true,
  MemberNamed: true,
  Joined: true,
  CircleStarted: true,
  Contributed: true,
  CollateralUsed: true,
  RoundEnded: true,
  CircleCompleted: true,
  CircleCancelled: true,
  PaidOut: true,
  CircleRefunded: true,
} as const satisfies Record<CircleKind, true>;

/** Who joins a circle without collateral pays nothing; shares of a vault may have earned nothing, or have cost nothing. */
export const movesNothing = ({ amount, circleId, shares }: ChainEvent): boolean =>
  amount === '0' && (circleId !== null || shares !== null);

/** False for kinds of a version that is not this one: the database may hold such events. */
const isPoolKind = (kind: Kind): kind is PoolKind => Object.hasOwn(MOVEMENTS, kind);
export const isCircleKind = (kind: Kind): kind is CircleKind => Object.hasOwn(CIRCLE_KINDS, kind);
export const isDrawKind = (kind: Kind): kind is DrawKind => Object.hasOwn(DRAW_CHANGES, kind);

/**
 * Decides the outcome of events, one after another in chain order. Each decision depends only on earlier events and on
 * announced deposits, so the result does not depend on how the chain is split into batches. Nor does it depend on when
 * a pool is created: a pool and its announced deposits appear together, and events wait for their pool. Changes the
 * balances and announced deposits of `pools` in place.
 */
export function decide(items: Item[], pools: Map<string, PoolState>, rules: Rules): Decision[] {
  return items.map((item) => ({ event: item.event, before: item.before, ...outcomeOf(item, pools, rules) }));
}

/** What is decided of an event. */
export type Outcome = Omit<Decision, 'event' | 'before'>;

/** The outcome of the next event. Without copies of what is known of it: this runs for each of millions. */
export function outcomeOf(item: Item, pools: Map<string, PoolState>, rules: Rules): Outcome {
  const { event } = item;
  if (event.blockNumber > rules.effective) return { outcome: 'WAITING' };
  if (event.drawId !== null) return outcomeInDraw(event, rules);
  if (event.kind === NOTHING) return { outcome: 'APPLIED' };
  // Its adapter failed.
  if (event.poolId === null) return refused('unreadable event');
  const pool = pools.get(event.poolId);
  if (rules.later?.has(event))
    return { outcome: 'UNKNOWN_POOL', reason: 'earlier events of its pool come first', pool };
  return outcomeOfMovement(item, pool);
}

const refused = (reason: string): Outcome => ({ outcome: 'REFUSED', reason });

function outcomeInDraw({ contract, drawId, kind }: ChainEvent, rules: Rules): Outcome {
  if (!isDrawKind(kind)) return refused('unknown kind of event');
  if (!rules.lotteries.has(contract)) return refused('not a lottery contract');
  if (BigInt(drawId!) > LARGEST_ID) return refused('draw id beyond 2^53 - 1');
  return { outcome: 'APPLIED' };
}

function outcomeOfMovement(item: Item, pool: PoolState | undefined): Outcome {
  const { event } = item;
  const { kind } = event;
  if (isShareKind(kind)) return refused('more shares than the account is known to have');
  if (!pool) return { outcome: 'UNKNOWN_POOL', reason: 'no such pool yet' };
  if (pool.contract !== event.contract) return refused('the pool is of another contract');
  if (!isPoolKind(kind)) return refused('unknown kind of event');
  const refusal = isCircleKind(kind) ? refuseInCircle(event, pool) : undefined;
  if (refusal) return refused(refusal);
  const movement = movesNothing(event) ? null : MOVEMENTS[kind];
  if (movement && event.amount === null) return refused('no amount');
  const id = transactionId(event);
  if (id === undefined) return refused('block or log number out of range');
  if (movement === 'WITHDRAWAL') {
    const balance = pool.balance - BigInt(event.amount!);
    if (balance < 0n) return { outcome: 'OVERDRAW', reason: `the pool holds ${pool.balance}` };
    pool.balance = balance;
  } else if (movement === 'DEPOSIT') {
    pool.balance += BigInt(event.amount!);
    const matched = pool.announced.length > 0 ? match(item, pool.announced) : undefined;
    if (matched) return { outcome: 'APPLIED', transactionId: matched.id, matched, pool };
  }
  return { outcome: 'APPLIED', transactionId: movement ? id : undefined, pool };
}

/**
 * Why an event of a circle is not one of the pool's: anyone may open a circle for any pool. A pool has one circle, the
 * first that its owner has opened for it.
 */
function refuseInCircle({ kind, circleId, account }: ChainEvent, pool: PoolState): string | undefined {
  if (circleId === null) return 'no circle';
  if (kind !== 'CircleOpened') return pool.circle === circleId ? undefined : "another circle than the pool's";
  if (pool.circle !== null) return 'the pool has a circle already';
  if (account !== pool.owner) return "not opened by the pool's owner";
  if (BigInt(circleId) > LARGEST_ID) return 'circle id beyond 2^53 - 1';
  pool.circle = circleId;
  return undefined;
}

/** What a contract gives as the reference of yield that it pays in again: "compound" in ASCII. */
export const COMPOUNDED = '636f6d706f756e640000000000000000';

/**
 * Takes the announced deposit that the event pays: the one it refers to, if the account matches too, as references are
 * public in the mempool. Otherwise the oldest one with the same account and amount, or else the one whose payer
 * submitted this transaction, whatever the amount. If the payer submitted the hash later, the deposit is stored with
 * the event (`TAKE_PAYMENTS`) and no hash is kept. Compounded yield pays no deposit: its account did not send it.
 */
function match({ event, transactionId }: Item, announced: Announced[]): Announced | undefined {
  const { ref, account, amount, txHash } = event;
  if (ref === COMPOUNDED) return undefined;
  const named = announced.findIndex((each) => each.id === ref && each.account === account);
  let found =
    named >= 0 ? named : announced.findIndex((each) => each.account === account && each.requested === amount);
  if (found < 0 && amount !== '0')
    found = announced.findIndex(
      (each) => each.account === account && (each.id === transactionId || each.hash === txHash),
    );
  return found < 0 ? undefined : announced.splice(found, 1)[0];
}

/** A copy that `decide` may change. */
export const copyPools = (pools: Map<string, PoolState>): Map<string, PoolState> =>
  new Map([...pools].map(([id, pool]) => [id, { ...pool, announced: [...pool.announced] }]));
