import type { Doubt } from './findings';

/** The part of a log's place that its second row has more than its index. */
export const SECOND = 2n ** 21n;

/** One of the rows that a log of a vault has become. */
export interface Part {
  /** Block and place in it. */
  id: string;
  kind: string;
  shares: bigint;
  amount: bigint;
  /** Where its row in the ledger is. */
  pool: string | null;
}

/** A row of the account that is followed, and the other row of its log. */
interface ShareRow {
  own: Part;
  /** Whether it is the second of its log: only such rows stand behind all others of their block. */
  isSecond: boolean;
  other?: Part;
  /** Of shares that are given: the vault's last trade before. */
  trade?: Pick<Part, 'amount' | 'shares'>;
}

/**
 * What one account has of a vault, row by row in the order of the chain. Shares cost their account, in units of the
 * asset, what it has paid in for them:
 *
 *     bought    shares += n                     cost += assets
 *     got       shares += n                     cost += what they have cost who gave them
 *     given     shares -= n                     cost -= least(part(n), worth(n))
 *     sold      shares -= n                     cost -= least(part(n), assets); the rest of the assets is yield
 *     part(n) = cost * n / shares               rounded down; 0 for no shares
 *     worth(n)                                  at the last trade of the vault, with what that may have been rounded by
 *
 * A payment for no shares is not an event. An event about more shares than there are stays as it was read, since
 * nothing is known of them. Shares and cost received from other accounts are taken as stored: the check of the giving
 * account finds out whether they are right.
 *
 * This arithmetic also stands in src/indexer/ledger/movements.ts: a change to one is a change to both. They share no code
 * on purpose.
 */
export class ShareModel {
  shares = 0n;
  cost = 0n;
  /** Pools of which it has moved money. */
  readonly pools = new Set<string>();
  /** What is said of the account contradicts itself, so nothing that follows can be told. */
  isDoubtful = false;

  /** @returns what is wrong of the row and of the other row of its log */
  apply(row: ShareRow): Doubt[] {
    if (row.own.pool !== null) this.pools.add(row.own.pool);
    if (this.isDoubtful) return [];
    const { own, other, isSecond, trade } = row;
    if (own.kind === 'Deposited' && !isSecond) return this.get(own, other);
    if (own.kind === 'Withdrawn' && isSecond && other?.kind === 'Deposited')
      return this.give(own, other, trade);
    if (own.kind === 'Withdrawn' && !isSecond && other?.kind === 'YieldClaimed') return this.sell(own, other);
    if (own.kind === 'YieldClaimed' && isSecond && other?.kind === 'Withdrawn') return [];
    if (own.kind === 'SharesSold' && !isSecond && !other) return this.refuse(own);
    // It is of the account that gives: who gets nothing has nothing to tell.
    if (own.kind === 'SharesMoved' && !isSecond && !other) return [];
    this.isDoubtful = true;
    return [wrong(own, null, other)];
  }

  private get(own: Part, other?: Part): Doubt[] {
    if (own.shares === 0n && !other) {
      this.isDoubtful = true;
      return [wrong(own, null)];
    }
    this.shares += own.shares;
    this.cost += own.amount;
    if (!other) return [];
    if (other.kind !== 'Withdrawn') {
      this.isDoubtful = true;
      return [wrong(other, null, own)];
    }
    // Which of the two is right is told where they are given.
    this.isDoubtful = own.shares !== other.shares || own.amount !== other.amount;
    return [];
  }

  private give(own: Part, other: Part, trade?: ShareRow['trade']): Doubt[] {
    const part = this.part(own.shares);
    if (part === undefined) return this.tooMany(own, 'SharesMoved', other);
    const divisor = trade && trade.shares > 1n ? trade.shares - 1n : 1n;
    const worth = trade && (own.shares * (trade.amount + 1n)) / divisor;
    const cost = worth !== undefined && worth < part ? worth : part;
    this.shares -= own.shares;
    this.cost -= cost;
    return [
      ...compare(own, 'amount', cost, other),
      ...compare(other, 'amount', cost, own),
      ...compare(other, 'shares', own.shares, own),
    ];
  }

  private sell(own: Part, other: Part): Doubt[] {
    const cost = this.part(own.shares);
    if (cost === undefined) return this.tooMany(own, 'SharesSold', other);
    const assets = own.amount + other.amount;
    const paidIn = cost < assets ? cost : assets;
    this.shares -= own.shares;
    this.cost -= paidIn;
    return [
      ...compare(own, 'amount', paidIn, other),
      ...compare(other, 'amount', assets - paidIn, own),
      ...compare(other, 'shares', 0n, own),
    ];
  }

  private refuse(own: Part): Doubt[] {
    return this.part(own.shares) === undefined ? [] : [wrong(own, 'Withdrawn')];
  }

  /** More than there are: it should have stayed as it was read. */
  private tooMany(own: Part, kind: string, other: Part): Doubt[] {
    this.isDoubtful = true;
    return [wrong(own, kind, other)];
  }

  private part(shares: bigint): bigint | undefined {
    if (shares > this.shares) return undefined;
    return shares === 0n ? 0n : (this.cost * shares) / this.shares;
  }
}

const wrong = (own: Part, kind: string | null, other?: Part): Doubt =>
  doubt(own, 'kind', own.kind, kind, other);

const compare = (part: Part, column: 'amount' | 'shares', right: bigint, other: Part): Doubt[] =>
  part[column] === right ? [] : [doubt(part, column, `${part[column]}`, `${right}`, other)];

const doubt = (part: Part, column: string, found: string, wanted: string | null, other?: Part): Doubt => ({
  ...{ kind: `chain_events.${column}`, id: part.id, found, wanted },
  subjects: [part.pool, other?.pool].filter((pool) => typeof pool === 'string'),
});
