import type { ChainEvent } from './decode';

/**
 * The arithmetic of contracts/SavingsPool.sol, event by event, in integers and with the contract's rounding. The
 * contract keeps amounts with an offset each: the weight of an amount, at a time, is amount * time - offset, which is
 * token units times seconds since the last accrual.
 */
const SCALE = 2n ** 128n;

/** Yield of one accrual for each unit of weight, and of all up to it for each token unit; both times SCALE. */
export interface Accrual {
  /** Seconds. */
  time: bigint;
  perWeight: bigint;
  perUnit: bigint;
}

/** What the contract keeps of a pool, and the last accrual's time and rate. Amounts in smallest token units. */
export interface Weights {
  total: bigint;
  offset: bigint;
  accruals: number;
  lastTime: bigint;
  lastPerUnit: bigint;
}

/** What the contract keeps of an account in a pool, and the sums of what it moved. */
export interface Position {
  balance: bigint;
  offset: bigint;
  /** Yield of `accruals` accruals that is not claimed. */
  owed: bigint;
  accruals: number;
  deposited: bigint;
  withdrawn: bigint;
  claimed: bigint;
}

/** A pool, as far as its next events need it. */
export interface PoolPositions {
  weights: Weights;
  /** By number, from 1: the first that each of the positions has not taken part in, and all that come now. */
  accruals: Map<number, Accrual>;
  /** By address. */
  positions: Map<string, Position>;
}

export type PositionEvent = Pick<
  ChainEvent,
  'poolId' | 'kind' | 'account' | 'amount' | 'time' | 'blockNumber'
>;

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

/** `impossible`: the reference contract cannot have emitted it, so nothing changes. `odd`: nor this, but it counts. */
export type Effect = 'exact' | 'odd' | 'impossible';

/** Changes the pool and the account in place. Events must come in the order of the chain. */
export function applyEvent(pool: PoolPositions, event: PositionEvent): Effect {
  const amount = BigInt(event.amount!);
  const time = BigInt(event.time);
  if (event.kind === 'YieldAccrued') return accrue(pool, amount, time);
  const { weights, positions } = pool;
  const address = event.account!;
  const position = positions.get(address) ?? noPosition(weights.accruals);
  if (event.kind === 'Withdrawn' && amount > position.balance) return 'impossible';
  settle(position, pool);
  positions.set(address, position);
  if (event.kind === 'YieldClaimed') {
    const exact = amount === position.owed;
    position.claimed += amount;
    position.owed = amount < position.owed ? position.owed - amount : 0n;
    return exact ? 'exact' : 'odd';
  }
  const change = event.kind === 'Deposited' ? amount : -amount;
  weights.total += change;
  weights.offset += change * time;
  position.balance += change;
  position.offset += change * time;
  if (event.kind === 'Deposited') position.deposited += amount;
  else position.withdrawn += amount;
  return 'exact';
}

/** As `accrueYield` does. */
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

/** As `_settle` does: yield up to now belongs to the balance up to now. */
function settle(position: Position, { weights, accruals }: PoolPositions): void {
  if (position.accruals === weights.accruals) return;
  const first = accruals.get(position.accruals + 1)!;
  const { balance } = position;
  position.owed += ((balance * first.time - position.offset) * first.perWeight) / SCALE;
  position.owed += (balance * (weights.lastPerUnit - first.perUnit)) / SCALE;
  position.offset = balance * weights.lastTime;
  position.accruals = weights.accruals;
}
