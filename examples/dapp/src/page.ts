import type { FollowState, Follower, PaymentCheck, PaymentRequest, Start } from '@pooled-savings/client';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Problem } from './errors.js';
import type { Token } from './format.js';
import type { Paying } from './payments.js';
import type { ReadyConfig, Session } from './session.js';

/** What all parts of the page share: what is known, and what they can do. */
export interface Page {
  session: Session;
  config: ReadyConfig;
  /** Everything that is shown about the user, kept true by the service's events. */
  data: Start;
  state: FollowState;
  follower: Follower | undefined;
  tokens: Tokens;
  paying: Paying;
  /** Pays, and shows the payment. */
  pay: (request: PaymentRequest, then?: () => Promise<unknown>) => void;
  /** Resolves to what would make a payment fail, before anything is created or sent. */
  check: (payment: Omit<PaymentCheck, 'wallet'> & { contract: string }) => Promise<Problem | undefined>;
  /** Does work that is no payment, and shows its result. */
  work: (title: string, work: () => Promise<string>) => void;
  /** Resolves once the page has the data, or after a while: then the service is behind, and the page shows it later. */
  untilSeen: (holds: (data: Start) => boolean) => Promise<void>;
  /** Asks for the terms of a pool's circle. */
  openCircle: (pool: string) => void;
}

export const PageContext = createContext<Page | null>(null);
export const usePage = (): Page => useContext(PageContext)!;

/** Which token an amount is of: each contract has one, and amounts of two never meet in a sum. */
export interface Tokens {
  /** The one of sums, and of the wallet's balance that is shown. */
  first: Token;
  /** What the wallet has of it; null if that is not known. */
  inWallet: (token: Token) => bigint | null;
  ofContract: (contract: string) => Token;
  /** Undefined for a pool that is not listed here, if there are several tokens. */
  ofPool: (pool: string) => Token | undefined;
  /** Those of the listed pools that are not the first. */
  others: readonly Token[];
}

export function tokensOf(
  { token: first, contractTokens }: ReadyConfig,
  data: Start | null,
  inWallet: bigint | null,
): Tokens {
  const isFirst = ({ address }: Token): boolean => address === first.address;
  const ofContract = (contract: string): Token => contractTokens[contract] ?? first;
  const ofPools = new Map(data?.pools.data.map((pool) => [pool.id, ofContract(pool.contractAddress)]));
  const others = [...ofPools.values()].filter((token) => !isFirst(token));
  const only = Object.values(contractTokens).every(isFirst) ? first : undefined;
  return {
    first,
    inWallet: (token) => (isFirst(token) ? inWallet : null),
    ofContract,
    ofPool: (pool) => ofPools.get(pool) ?? only,
    others: [...new Map(others.map((token) => [token.address, token])).values()],
  };
}
