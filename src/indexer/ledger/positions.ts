import type { PoolKind } from '#ledger/adapters/happening';
import type { ChainEvent } from '#indexer/reading/decode';

/**
 * The arithmetic of contracts/SavingsPool.sol, event by event, in integers and with the contract's rounding. The
 * contract stores an offset with each amount: the amount's weight at a time is amount * time - offset, in token units
 * times seconds since the last accrual.
 *
 * This arithmetic also stands in contracts/SavingsPool.sol, src/verify/checks/yield-model.ts (which explains it) and
 * src/features/positions/positions.sql.ts: a change to one is a change to all four.
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

/** Events that move nothing: what is to become of yield, and that a pool is there. */
const UNMOVING = ['CompoundingStarted', 'CompoundingStopped', 'PoolOpened'] as const satisfies PoolKind[];
type PositionKind = Exclude<PoolKind, (typeof UNMOVING)[number]>;
export const changesPositions = (kind: PoolKind): kind is PositionKind =>
  !(UNMOVING as readonly string[]).includes(kind);

export interface PositionEvent extends Pick<ChainEvent, 'account' | 'amount' | 'time' | 'blockNumber'> {
  poolId: string;
  kind: PositionKind;
}

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
 * this either, but the event counts.
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
    case 'Deposited': {
      const position = settled(pool, event.account!);
      move(pool.weights, position, amount, time);
      position.deposited += amount;
      return 'exact';
    }
    case 'Withdrawn': {
      if (amount > (pool.positions.get(event.account!)?.balance ?? 0n)) return 'impossible';
      const position = settled(pool, event.account!);
      move(pool.weights, position, -amount, time);
      position.withdrawn += amount;
      return 'exact';
    }
    case 'YieldClaimed': {
      const position = settled(pool, event.account!);
      const exact = amount === position.owed;
      position.claimed += amount;
      position.owed = amount < position.owed ? position.owed - amount : 0n;
      return exact ? 'exact' : 'odd';
    }
    default:
      kind satisfies never;
      return 'impossible';
  }
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
