import type { Hex } from 'viem';

/** The pool, as the contract knows it: see `PoolContractOptions.poolsBy`. */
type OfPool =
  | {
      /** 16 bytes: the id that the service gave it. */
      poolId: Hex;
    }
  | {
      /** Made by the contract, and named in its event `PoolOpened`. */
      poolNumber: bigint;
    }
  | {
      /** Whose pool it is: the account's only one at the contract. */
      poolAccount: Hex;
    }
  | {
      /** The contract is the pool. */
      isContract: true;
    };

/** Money of an account and a pool of the service. Amounts are in the token's smallest unit. */
interface Money {
  account: Hex;
  amount: bigint;
}
type Movement = OfPool & Money;

/** 16 bytes: the id of the announced deposit that it refers to. None, or only zeros: it refers to none. */
interface Referring {
  ref?: Hex;
}

interface InDraw {
  drawId: bigint;
}

interface OfAccount extends InDraw {
  account: Hex;
  amount: bigint;
}

/** What happens to a pool. */
interface ToPools {
  /** Paid in, by the account. */
  Deposited: Movement & Referring;
  /**
   * Paid out to the account, of what was paid in. What goes beyond that counts as yield, unless the contract numbers its
   * events, or `remaining` says what the account has in the pool after it: then only as much as leaves the position is a
   * withdrawal, and the rest is yield.
   */
  Withdrawn: Movement & Referring & { remaining?: bigint };
  /** Paid out to the account, of what the pool has earned. `fee` is what the contract kept beside `amount`. */
  YieldClaimed: Movement & Referring & { fee?: bigint };
  /** Earned by the pool, for all who have money in it; `aprBps` is the yearly rate, in hundredths of a percent. */
  YieldAccrued: OfPool & Omit<Money, 'account'> & { aprBps: number };
  /** The account wants its yield in the pool to be paid in again, by anyone. Moves nothing. */
  CompoundingStarted: OfPool & Omit<Money, 'amount'>;
  CompoundingStopped: OfPool & Omit<Money, 'amount'>;
  /** The contract has made a pool for the account, and given it a number. Moves nothing. */
  PoolOpened: { poolNumber: bigint; account: Hex };
}

/** What happens to a draw. */
interface ToDraws {
  /** `amount` is the price of a ticket; `drawTime`, in seconds, ends the sale. */
  DrawOpened: InDraw & { amount: bigint; drawTime: bigint };
  /** `amount` is the number of tickets. */
  TicketsIssued: OfAccount;
  /** Paid in by the account, for tickets or as a gift: a cancelled draw gives it back. Issuing tickets pays nothing. */
  PrizeFunded: OfAccount;
  DrawClosed: InDraw;
  /** Won by the account; `amount` is the prize. */
  DrawCompleted: OfAccount;
  DrawCancelled: InDraw;
  PrizePaid: OfAccount;
  /** Of a cancelled draw, to who had paid into it. */
  Refunded: OfAccount;
}

interface InCircle {
  circleId: bigint;
  /** 16 bytes: the pool that the circle says it is of. */
  poolId: Hex;
}

/** Money of a member, in the token's smallest unit. */
interface OfMember extends InCircle {
  account: Hex;
  amount: bigint;
}

interface InRound extends OfMember {
  /** Its number, from 0: it is the turn of the member with this place. */
  place: number;
}

/** What happens to a circle of savers, who take turns. Times are in seconds. */
interface ToCircles {
  /** By the account. `amount` is what each member pays in a round, `place` the number of members. */
  CircleOpened: InRound & { collateral: bigint; period: number; time: bigint };
  /** The account is a member; its turn is in the round with the number `place`. Moves nothing. */
  MemberNamed: Omit<InRound, 'amount'>;
  /** Locked as collateral. Zero where a circle asks for none. */
  Joined: OfMember & Referring;
  /** All have joined; `time` ends the first round. */
  CircleStarted: InCircle & { time: bigint };
  Contributed: InRound & Referring;
  /** Taken from the collateral of a member who has not paid. */
  CollateralUsed: InRound;
  /** The pot of the round is now the account's. `time` ends the next round, and is zero after the last. */
  RoundEnded: InRound & { time: bigint };
  CircleCompleted: InCircle;
  CircleCancelled: InCircle;
  /** Pots, paid out. */
  PaidOut: OfMember & Referring;
  /** What is left of the collateral and, of a cancelled circle, what was paid for its last round. */
  CircleRefunded: OfMember & Referring;
}

/** What an account holds of a vault is its pool, or the vault is one: the contract's `poolsBy` is 'account' or 'contract'. */
interface OfShares {
  /** Whose shares they are, or were. */
  holder: Hex;
  account: Hex;
  shares: bigint;
}

/**
 * What happens to shares of a vault, whose worth changes. The indexer knows what was paid in for them, and makes deposits,
 * withdrawals and claims of these: the ledger stores those.
 */
interface ToShares {
  /** The account got shares, for which `amount` was paid in. */
  SharesBought: OfShares & { amount: bigint };
  /** Shares of the account were given back; `amount` was paid out for them: what was paid in, and what it has earned. */
  SharesSold: OfShares & { amount: bigint };
  /**
   * The holder has given shares to the account, with the amount that was paid in for them. A transfer from the zero
   * address mints shares, one to it burns them; without a purchase or sale of them in its block, this is for nothing.
   */
  SharesMoved: OfShares;
}

type Happenings = ToPools & ToDraws & ToCircles & ToShares;

/** Events of one circle, which is a pool's. */
export type CircleKind = keyof ToCircles;
/** Events of one pool. */
export type PoolKind = keyof ToPools | CircleKind;
/** Events of a vault, of which the indexer makes others. */
export type ShareKind = keyof ToShares;
/** Events of one draw. */
export type DrawKind = keyof ToDraws;
/** The ledger stores these names in `chain_events`. It knows them, and no event of any contract. */
export type Kind = keyof Happenings;

/** What an event of a contract says, in the words of the ledger. The adapter of the contract translates. */
export type Happening<Each extends Kind = Kind> = {
  [Name in Each]: { kind: Name } & Happenings[Name];
}[Each];
