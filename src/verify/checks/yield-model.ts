/**
 * The arithmetic of SavingsPool, from its events alone: amounts in token units, times in seconds, all of it in
 * integers, divisions rounded down as the contract does. Events must come in the order of `seq`.
 *
 * Account and pool keep an amount (balance, total) and an offset. A deposit at `time` adds to both amounts, and
 * amount * time to both offsets; a withdrawal takes them off. Weight, at a time, is amount * time - offset: the sum of
 * token units x seconds since the last accrual. The accrual number n, of `yield` at `time[n]`, sets
 *
 *     perWeight[n] = yield * 2^128 / (total * time[n] - offset)
 *     perUnit[n]   = perUnit[n - 1] + perWeight[n] * (time[n] - time[n - 1]),   perUnit[1] = 0
 *     offset       = total * time[n]                                            of the pool
 *
 * An account is settled right before its next deposit, withdrawal or claim, and when it is asked what it can claim. It
 * then takes part in the accruals `a` to `b`, all that came since it was last settled:
 *
 *     owed  += (balance * time[a] - offset) * perWeight[a] / 2^128
 *     owed  += balance * (perUnit[b] - perUnit[a]) / 2^128
 *     offset = balance * time[b]
 *
 * Settling at other moments may round differently, so the result is stored with these events and with no others.
 *
 * This arithmetic also stands in contracts/SavingsPool.sol, src/indexer/ledger/positions.ts and
 * src/extensions/positions/positions.sql.ts: a change to one is a change to all four. They share no code on purpose, so
 * that verification and the tests of the contract find a fault in any of the others.
 */
const SCALE = 2n ** 128n;

export interface PoolEvent {
  kind: 'Deposited' | 'Withdrawn' | 'YieldClaimed' | 'YieldAccrued' | 'RoundEnded';
  pool: string;
  /** Missing in YieldAccrued. */
  account?: string;
  amount: bigint;
  /** Timestamp of the block. */
  time: bigint;
  /** Of RoundEnded: those who each pay their part of the amount to the account. */
  members?: string[] | null;
}

export interface Accrual {
  time: bigint;
  perWeight: bigint;
  perUnit: bigint;
}

/** With the sums of what was moved. */
export interface Account {
  balance: bigint;
  offset: bigint;
  owed: bigint;
  /** How many accruals it has taken part in. */
  accruals: number;
  deposited: bigint;
  withdrawn: bigint;
  claimed: bigint;
}

export interface Pool {
  total: bigint;
  offset: bigint;
  accruals: Accrual[];
  accounts: Map<string, Account>;
}

const newAccount = (): Account => ({
  balance: 0n,
  offset: 0n,
  owed: 0n,
  accruals: 0,
  deposited: 0n,
  withdrawn: 0n,
  claimed: 0n,
});

export class YieldModel {
  readonly pools = new Map<string, Pool>();

  /**
   * An accrual without any weight and an event of another kind change nothing. A withdrawal beyond the balance, and a
   * claim of another amount than is owed, take off what they can.
   */
  apply(event: PoolEvent): void {
    const { kind, pool: id, account: holder, amount, time } = event;
    const pool = this.pools.get(id) ?? { total: 0n, offset: 0n, accruals: [], accounts: new Map() };
    if (kind === 'RoundEnded') takeTurn(pool, event);
    else if (kind === 'YieldAccrued') {
      if (pool.total * time <= pool.offset) return;
      accrue(pool, amount, time);
      this.pools.set(id, pool);
    } else if (kind === 'Deposited' || kind === 'Withdrawn' || kind === 'YieldClaimed') {
      const account = settled(pool, holder!);
      this.pools.set(id, pool);
      pool.accounts.set(holder!, account);
      if (kind === 'YieldClaimed') {
        account.claimed += amount;
        account.owed = account.owed > amount ? account.owed - amount : 0n;
        return;
      }
      const change = kind === 'Deposited' ? amount : -least(account.balance, amount);
      pool.total += change;
      pool.offset += change * time;
      account.balance += change;
      account.offset += change * time;
      account[kind === 'Deposited' ? 'deposited' : 'withdrawn'] += amount;
    }
  }

  claimableOf(id: string, holder: string): bigint {
    const pool = this.pools.get(id);
    return pool ? settled(pool, holder).owed : 0n;
  }
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);

function accrue(pool: Pool, amount: bigint, time: bigint): void {
  const last = pool.accruals.at(-1);
  const perWeight = (amount * SCALE) / (pool.total * time - pool.offset);
  const perUnit = last ? last.perUnit + perWeight * (time - last.time) : 0n;
  pool.accruals.push({ time, perWeight, perUnit });
  pool.offset = pool.total * time;
}

/** Nothing changes unless every member has an equal part to give. */
function takeTurn(pool: Pool, { account: winner, amount, time, members }: PoolEvent): void {
  const count = BigInt(members?.length ?? 0);
  if (count === 0n || amount % count !== 0n) return;
  const change = (holder: string, by: bigint): void => {
    const account = settled(pool, holder);
    account.balance += by;
    account.offset += by * time;
    pool.accounts.set(holder, account);
  };
  const part = amount / count;
  if (members!.some((member) => (pool.accounts.get(member)?.balance ?? 0n) < part)) return;
  for (const member of members!) change(member, -part);
  change(winner!, amount);
}

/** A copy of the account with all accruals so far. */
function settled(pool: Pool, holder: string): Account {
  const account = { ...(pool.accounts.get(holder) ?? newAccount()) };
  const first = pool.accruals[account.accruals];
  const last = pool.accruals.at(-1);
  if (first && last) {
    account.owed += ((account.balance * first.time - account.offset) * first.perWeight) / SCALE;
    account.owed += (account.balance * (last.perUnit - first.perUnit)) / SCALE;
    account.offset = account.balance * last.time;
    account.accruals = pool.accruals.length;
  }
  return account;
}
