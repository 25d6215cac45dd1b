/**
 * The arithmetic of SavingsPool, from its events alone: amounts in token units, times in seconds, all of it in
 * integers that round down as the contract does. Events must come in the order of `seq`.
 *
 * Since the last accrual, an account's weight is the sum of balance x seconds, and the pool's weight is that of all
 * accounts. The accrual number n of `amount` at `time[n]` sets
 *
 *     perWeight[n] = amount * 2^128 / weight of the pool
 *     perUnit[n]   = perUnit[n - 1] + perWeight[n] * (time[n] - time[n - 1]),   perUnit[1] = 0
 *
 * and the pool's weight begins again at zero. With an account's deposits, withdrawals and claims, and when it is
 * asked, it is brought up to date. If the accruals from `a` to `b` came since the last time, which was `at`:
 *
 *     owed   += (weight + balance * (time[a] - at)) * perWeight[a] / 2^128
 *     owed   += balance * (perUnit[b] - perUnit[a]) / 2^128
 *     weight  = balance * (now - time[b])
 *
 * and if none came, weight += balance * (now - at). Bringing an account up to date at other moments may round
 * otherwise, so it must be done with these events and with no others.
 */
const SCALE = 2n ** 128n;

export interface PoolEvent {
  kind: 'Deposited' | 'Withdrawn' | 'YieldClaimed' | 'YieldAccrued';
  pool: string;
  /** Missing in YieldAccrued. */
  account?: string;
  amount: bigint;
  /** Timestamp of the block. */
  time: bigint;
}

interface Accrual {
  time: bigint;
  perWeight: bigint;
  perUnit: bigint;
}

interface Account {
  balance: bigint;
  weight: bigint;
  owed: bigint;
  updatedAt: bigint;
  accruals: number;
}

interface Pool {
  total: bigint;
  weight: bigint;
  updatedAt: bigint;
  accruals: Accrual[];
  accounts: Map<string, Account>;
}

const newPool = (): Pool => ({ total: 0n, weight: 0n, updatedAt: 0n, accruals: [], accounts: new Map() });
const newAccount = (): Account => ({ balance: 0n, weight: 0n, owed: 0n, updatedAt: 0n, accruals: 0 });

export class YieldModel {
  private readonly pools = new Map<string, Pool>();

  /** @throws if the contract cannot have emitted the event */
  apply({ kind, pool: id, account: holder, amount, time }: PoolEvent): void {
    const pool = this.pools.get(id) ?? newPool();
    this.pools.set(id, pool);
    if (kind === 'YieldAccrued') return accrue(pool, amount, time);
    const account = upToDate(pool, holder!, time);
    pool.accounts.set(holder!, account);
    if (kind === 'YieldClaimed') {
      if (amount !== account.owed) throw new Error(`claimed ${amount}, owed ${account.owed}`);
      account.owed = 0n;
      return;
    }
    const change = kind === 'Deposited' ? amount : -amount;
    pool.weight += pool.total * (time - pool.updatedAt);
    pool.updatedAt = time;
    pool.total += change;
    account.balance += change;
    if (account.balance < 0n) throw new Error(`withdrew ${amount}, ${-account.balance} too much`);
  }

  totalOf(id: string): bigint {
    return this.pools.get(id)?.total ?? 0n;
  }

  balanceOf(id: string, holder: string): bigint {
    return this.pools.get(id)?.accounts.get(holder)?.balance ?? 0n;
  }

  claimableOf(id: string, holder: string): bigint {
    const pool = this.pools.get(id);
    const last = pool?.accruals.at(-1);
    return pool && last ? upToDate(pool, holder, last.time).owed : 0n;
  }

  weightOf(id: string, holder: string, now: bigint): bigint {
    const pool = this.pools.get(id);
    return pool ? upToDate(pool, holder, now).weight : 0n;
  }

  totalWeightOf(id: string, now: bigint): bigint {
    const pool = this.pools.get(id) ?? newPool();
    return pool.weight + pool.total * (now - pool.updatedAt);
  }
}

function accrue(pool: Pool, amount: bigint, time: bigint): void {
  const weight = pool.weight + pool.total * (time - pool.updatedAt);
  const last = pool.accruals.at(-1);
  const perWeight = (amount * SCALE) / weight;
  const perUnit = last ? last.perUnit + perWeight * (time - last.time) : 0n;
  pool.accruals.push({ time, perWeight, perUnit });
  pool.weight = 0n;
  pool.updatedAt = time;
}

/** A copy of the account as it is at a time, which is not before its last change. */
function upToDate(pool: Pool, holder: string, now: bigint): Account {
  const account = { ...(pool.accounts.get(holder) ?? newAccount()) };
  const first = pool.accruals[account.accruals];
  const last = pool.accruals.at(-1);
  if (first && last) {
    account.weight += account.balance * (first.time - account.updatedAt);
    account.owed += (account.weight * first.perWeight) / SCALE;
    account.owed += (account.balance * (last.perUnit - first.perUnit)) / SCALE;
    account.weight = 0n;
    account.updatedAt = last.time;
  }
  account.weight += account.balance * (now - account.updatedAt);
  account.updatedAt = now;
  account.accruals = pool.accruals.length;
  return account;
}
