import { createHash } from 'node:crypto';
import type { Kind, ShareKind } from '#ledger/adapters/happening';
import type { ChainEvent } from '#indexer/reading/decode';
import { MAX_LOGS } from '#indexer/reading/raw-chain';

const SHARE_KINDS = {
  SharesBought: true,
  SharesSold: true,
  SharesMoved: true,
} as const satisfies Record<ShareKind, true>;

/** Its `poolName` is the account whose shares they are, or were. */
export type ShareEvent = ChainEvent & { kind: ShareKind; poolName: string; account: string; shares: string };

export const isShareKind = (kind: Kind): kind is ShareKind => Object.hasOwn(SHARE_KINDS, kind);
export const isOfShares = (event: ChainEvent): event is ShareEvent => isShareKind(event.kind);

/**
 * 32 hex digits that stand for a pool which only its contract's name for it is known of. Nobody can find a name whose
 * digits are the id of another pool.
 */
export const standIn = (contract: string, name: string): string =>
  createHash('sha256').update(`${contract} ${name}`).digest('hex').slice(0, 32);

/** A transfer from this address mints shares, a transfer to it burns them. */
const NOBODY = `0x${'0'.repeat(40)}`;

/**
 * Drops transfers that mint or burn shares together with a purchase or sale, which already describes them. The others
 * are fees that a vault takes in shares, which cost their recipient nothing, and shares given up for nothing. Shares
 * that a vault mints or burns for itself, as some do to lock profits, belong to nobody.
 * @param events of complete blocks. Each purchase or sale in a block accounts for one transfer of as many shares.
 *   Matching by transaction would be more exact, but only the node vouches for transaction hashes
 */
export function withFees(events: ShareEvent[]): ShareEvent[] {
  const traded = new Map<string, number>();
  const keyOf = ({ blockNumber, contract, kind, poolName, shares }: ShareEvent): string =>
    `${blockNumber} ${contract} ${kind} ${poolName} ${shares}`;
  for (const event of events) traded.set(keyOf(event), (traded.get(keyOf(event)) ?? 0) + 1);
  // From the end, because a purchase comes after the mint that it describes, and an earlier mint was a fee.
  const kept = events.toReversed().flatMap((event) => {
    const { kind, contract, poolName, account } = event;
    if (kind !== 'SharesMoved' || (poolName !== NOBODY && account !== NOBODY)) return event;
    const holder = poolName === NOBODY ? account : poolName;
    const alone: ShareEvent = {
      ...event,
      ...{ kind: poolName === NOBODY ? 'SharesBought' : 'SharesSold', amount: '0' },
      ...{ account: holder, poolName: holder, poolId: standIn(contract, holder) },
    };
    const key = keyOf(alone);
    const count = traded.get(key) ?? 0;
    traded.set(key, count - 1);
    return count > 0 || holder === contract ? [] : alone;
  });
  return kept.toReversed();
}

/** What an account has of a vault. */
export interface Holding {
  shares: bigint;
  /** What was paid in for them and has not been paid out, in the smallest unit of the vault's asset. */
  cost: bigint;
}

/** Smaller trades tell too little of the price: vaults round them to units. */
export const LEAST_TRADED = 1000n;

/** What was paid for how many shares. */
export interface Trade {
  amount: bigint;
  shares: bigint;
}

/** A vault, after the events before. */
export interface Vault {
  /** Whether it is one pool. If not, what each account has of it is a pool. */
  isPool: boolean;
  /** The last trade that tells the price. It is changed in place. */
  trade?: Trade;
  /** What an account has. It is changed in place. */
  holdingOf: (account: string) => Holding;
}

/**
 * The deposits, withdrawals and claims that an event of a vault is, after those before it:
 * - shares bought: a deposit of what was paid; nothing, if there are no shares for it;
 * - shares sold: a withdrawal of what they have cost on the average, and a claim of what was paid beyond. What was paid
 *   below that stays in the cost of the shares that are left, so later gains make up for a loss before any counts as
 *   yield. So the cost of a holding is always what its account has paid in less what it has taken out;
 * - shares moved: a withdrawal by who gives and a deposit by who gets them, of what they have cost, but no more than they
 *   were worth at the vault's last trade: nobody can give others a loss.
 *
 * The part of the cost that goes with some of the shares is rounded down; the last take what is left. Both parts of what
 * was paid out are it, to the unit. An event of more shares than its account has stays what it is: what was paid for
 * them is not known, as if the vault had been followed from the middle on. Then it stays that of its account, too.
 *
 * This arithmetic also stands in src/verify/checks/share-model.ts: a change to one is a change to both. They share no code
 * on purpose.
 */
export function movementsOf(event: ShareEvent, vault: Vault): ChainEvent[] {
  const { isPool, holdingOf } = vault;
  const { kind, account, poolName: holder, contract } = event;
  const [amount, shares] = [BigInt(event.amount ?? 0), BigInt(event.shares)];
  const inPoolOf = (who: string): Pick<ChainEvent, 'account' | 'poolName' | 'poolId'> => {
    const poolName = isPool ? contract : who;
    return { account: who, poolName, poolId: standIn(contract, poolName) };
  };
  const holding = holdingOf(holder);
  if (kind === 'SharesBought') {
    if (shares === 0n) return [];
    if (amount >= LEAST_TRADED && shares >= LEAST_TRADED) vault.trade = { amount, shares };
    add(holding, shares, amount);
    return [{ ...event, ...inPoolOf(holder), kind: 'Deposited' }];
  }
  const cost = costOf(holding, shares);
  if (cost === undefined) return [event];
  if (kind === 'SharesSold') {
    if (amount >= LEAST_TRADED && shares > 0n) vault.trade = { amount, shares };
    const sold = { ...event, ...inPoolOf(holder) };
    const principal = cost < amount ? cost : amount;
    add(holding, -shares, -principal);
    return [
      { ...sold, kind: 'Withdrawn', amount: `${principal}` },
      second({ ...sold, kind: 'YieldClaimed', amount: `${amount - principal}`, shares: '0' }),
    ];
  }
  const worth = worthOf(shares, vault.trade);
  const given = worth !== undefined && worth < cost ? worth : cost;
  add(holding, -shares, -given);
  add(holdingOf(account), shares, given);
  const moved = { ...event, amount: `${given}` };
  return [
    { ...moved, ...inPoolOf(account), kind: 'Deposited' },
    second({ ...moved, ...inPoolOf(holder), kind: 'Withdrawn' }),
  ];
}

/** Undefined for more shares than there are. */
function costOf({ shares: held, cost }: Holding, shares: bigint): bigint | undefined {
  if (shares > held) return undefined;
  return shares === 0n ? 0n : (cost * shares) / held;
}

/** At most, as the trade was rounded. */
const worthOf = (shares: bigint, trade?: Trade): bigint | undefined =>
  trade && (shares * (trade.amount + 1n)) / (trade.shares > 1n ? trade.shares - 1n : 1n);

function add(holding: Holding, shares: bigint, cost: bigint): void {
  holding.shares += shares;
  holding.cost += cost;
}

/** Both events of a log that says two things. */
export function withSecond({ second: also, ...first }: ChainEvent): ChainEvent[] {
  const { logIndex, seq, txHash } = first;
  return also ? [first, second({ ...also, logIndex, seq, txHash })] : [first];
}

/**
 * The second event of a log comes after all other events of its block. Of a vault it only takes out, so no balance is ever
 * too low for what comes before it.
 */
export function second(event: ChainEvent): ChainEvent {
  return { ...event, logIndex: event.logIndex + MAX_LOGS, seq: event.seq + MAX_LOGS };
}
