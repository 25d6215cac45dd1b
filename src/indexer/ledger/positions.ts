import type { Kind, PoolKind } from '#ledger/adapters/happening';
import type { ChainEvent } from '#indexer/reading/decode';

/**
 * The arithmetic of contracts/SavingsPool.sol, event by event, in integers and with the contract's rounding. The
 * contract stores an offset with each amount: the amount's weight at a time is amount * time - offset, in token units
 * times seconds since the last accrual.
 *
 * This arithmetic also stands in contracts/SavingsPool.sol, src/verify/checks/yield-model.ts (which explains it) and
 * src/extensions/positions/positions.sql.ts: a change to one is a change to all four.
 */
const SCALE = 2n ** 128n;

/**
 * `perWeight` is the yield of one accrual for each unit of weight; `perUnit` is the yield of all accruals up to it for
 * each token unit. Both are multiplied by SCALE.
 */
export interface Accrual {
  /** Seconds. */
  time: bigint;
  perWeight: bigint;
  perUnit: bigint;
}

/** What the contract stores for a pool, and the last accrual's time and rate. Amounts in smallest token units. */
export interface Weights {
  total: bigint;
  offset: bigint;
  accruals: number;
  lastTime: bigint;
  lastPerUnit: bigint;
}

/** What the contract stores for an account in a pool, and the sums of its deposits, withdrawals and claims. */
export interface Position {
  balance: bigint;
  offset: bigint;
  /** Unclaimed yield of the first `accruals` accruals. */
  owed: bigint;
  accruals: number;
  deposited: bigint;
  withdrawn: bigint;
  claimed: bigint;
}

/** The part of a pool that its next events need. */
export interface PoolPositions {
  weights: Weights;
  /** By number, from 1: the first accrual that each position has not taken part in, and all new ones. */
  accruals: Map<number, Accrual>;
  /** By address. */
  positions: Map<string, Position>;
}

/** Which events change what the contract counts for accounts. What pays for a round stays with who had it until its end. */
const CHANGES = {
  Deposited: true,
  Withdrawn: true,
  YieldClaimed: true,
  YieldAccrued: true,
  CompoundingStarted: false,
  CompoundingStopped: false,
  CircleOpened: false,
  MemberNamed: false,
  Joined: true,
  CircleStarted: false,
  Contributed: true,
  CollateralUsed: false,
  RoundEnded: true,
  CircleCompleted: false,
  CircleCancelled: false,
  PaidOut: true,
  CircleRefunded: true,
  PoolOpened: false,
} as const satisfies Record<PoolKind, boolean>;
type PositionKind = { [Kind in PoolKind]: (typeof CHANGES)[Kind] extends true ? Kind : never }[PoolKind];
/** False for kinds of a version that is not this one. */
export const changesPositions = (kind: Kind): kind is PositionKind => POSITION_KINDS.includes(kind);
export const POSITION_KINDS: readonly Kind[] = (Object.keys(CHANGES) as PoolKind[]).filter(
  (kind) => CHANGES[kind],
);

export interface PositionEvent extends Pick<ChainEvent, 'account' | 'amount' | 'time' | 'blockNumber'> {
  poolId: string;
  kind: PositionKind;
  /** Of contracts that name pools themselves, such as vaults: nobody knows what yield they owe before they pay it. */
  poolName?: string | null;
  /** Of RoundEnded: the members of the circle, each of whom pays the same part of the pot. */
  members?: string[] | null;
}

/** All accounts whose positions the event may change. */
export const accountsOf = ({ account, members }: Pick<PositionEvent, 'account' | 'members'>): string[] =>
  account === null ? (members ?? []) : members ? [...new Set([account, ...members])] : [account];

export const noWeights = (): Weights => ({
  total: 0n,
  offset: 0n,
  accruals: 0,
  lastTime: 0n,
  lastPerUnit: 0n,
});
const noPosition = (accruals: number): Position => ({
  balance: 0n,
  offset: 0n,
  owed: 0n,
  accruals,
  deposited: 0n,
  withdrawn: 0n,
  claimed: 0n,
});

/**
 * `impossible`: the reference contract cannot have emitted the event, so nothing changes. `odd`: it cannot have emitted
 * this either, but the event counts. A withdrawal beyond the balance leaves none: other contracts pay a gain with it.
 */
export type Effect = 'exact' | 'odd' | 'impossible';

/**
 * Changes the pool and the account in place. Apply events in chain order. An event of an unknown kind, which another
 * version stored, changes nothing.
 */
export function applyEvent(pool: PoolPositions, event: PositionEvent): Effect {
  const { kind } = event;
  const amount = BigInt(event.amount ?? 0);
  const time = BigInt(event.time);
  switch (kind) {
    case 'YieldAccrued':
      return accrue(pool, amount, time);
    case 'Deposited':
    case 'Joined':
    case 'Contributed': {
      const position = settled(pool, event.account!);
      move(pool.weights, position, amount, time);
      position.deposited += amount;
      return 'exact';
    }
    case 'Withdrawn':
    case 'PaidOut':
    case 'CircleRefunded': {
      const position = settled(pool, event.account!);
      const isBeyond = amount > position.balance;
      move(pool.weights, position, isBeyond ? -position.balance : -amount, time);
      position.withdrawn += amount;
      return isBeyond ? 'odd' : 'exact';
    }
    case 'YieldClaimed': {
      const position = settled(pool, event.account!);
      const exact = amount === position.owed || typeof event.poolName === 'string';
      position.claimed += amount;
      position.owed = amount < position.owed ? position.owed - amount : 0n;
      return exact ? 'exact' : 'odd';
    }
    case 'RoundEnded':
      return endRound(pool, event, amount, time);
    default:
      kind satisfies never;
      return 'impossible';
  }
}

/** Every member's part of the pot becomes the money of the account. Nothing is paid in or out. */
function endRound(pool: PoolPositions, event: PositionEvent, pot: bigint, time: bigint): Effect {
  const members = event.members ?? [];
  const part = members.length > 0 ? pot / BigInt(members.length) : 0n;
  if (members.length === 0 || part * BigInt(members.length) !== pot) return 'impossible';
  if (members.some((member) => (pool.positions.get(member)?.balance ?? 0n) < part)) return 'impossible';
  for (const member of members) move(pool.weights, settled(pool, member), -part, time);
  move(pool.weights, settled(pool, event.account!), pot, time);
  return 'exact';
}

/** Adds the change to both balances, and takes off the weight that it would have had before `time`. */
function move(weights: Weights, position: Position, change: bigint, time: bigint): void {
  weights.total += change;
  weights.offset += change * time;
  position.balance += change;
  position.offset += change * time;
}

/** Same as the contract's `accrueYield`. */
function accrue({ weights, accruals }: PoolPositions, amount: bigint, time: bigint): Effect {
  const weight = weights.total * time - weights.offset;
  if (weight <= 0n) return 'impossible';
  const perWeight = (amount * SCALE) / weight;
  const perUnit = weights.accruals > 0 ? weights.lastPerUnit + perWeight * (time - weights.lastTime) : 0n;
  weights.accruals += 1;
  accruals.set(weights.accruals, { time, perWeight, perUnit });
  weights.lastTime = time;
  weights.lastPerUnit = perUnit;
  weights.offset = weights.total * time;
  return 'exact';
}

/** The account's position after the contract's `_settle`: yield up to now belongs to the balance up to now. */
function settled({ weights, accruals, positions }: PoolPositions, address: string): Position {
  const position = positions.get(address) ?? noPosition(weights.accruals);
  positions.set(address, position);
  if (position.accruals === weights.accruals) return position;
  const first = accruals.get(position.accruals + 1)!;
  const { balance } = position;
  position.owed += ((balance * first.time - position.offset) * first.perWeight) / SCALE;
  position.owed += (balance * (weights.lastPerUnit - first.perUnit)) / SCALE;
  position.offset = balance * weights.lastTime;
  position.accruals = weights.accruals;
  return position;
}
