import type { Payment } from '@pooled-savings/client';
import type { Token } from './format.js';
import type { Holdings, ReadyConfig } from './session.js';

/** Which token an amount is of: each contract has one, and amounts of two never meet in a sum. */
export interface Tokens {
  /** The one of sums, and of the wallet's balance that is shown. */
  first: Token;
  /** The first, if there is no other. */
  only: Token | undefined;
  /** What the wallet has of it; null if that is not known. */
  inWallet: (token: Token) => bigint | null;
  ofContract: (contract: string) => Token;
  /** Undefined for a pool that is not listed here, if there are several tokens. */
  ofPool: (pool: string) => Token | undefined;
  ofPayment: (payment: Payment) => Token | undefined;
  /** Those of the listed pools that are not the first. */
  others: readonly Token[];
}

export function tokensOf(
  { token: first, contractTokens, contracts }: ReadyConfig,
  { pools, inWallet }: Pick<Holdings, 'pools' | 'inWallet'> = { pools: [], inWallet: null },
): Tokens {
  const ofContract: Tokens['ofContract'] = (contract) => contractTokens[contract] ?? first;
  const isFirst = ({ address }: { address: string }): boolean => address === first.address;
  const only = Object.values(contractTokens).every(isFirst) ? first : undefined;
  const places = new Map(pools.map(({ id, contractAddress }) => [id, contractAddress]));
  const ofPool = (pool: string): Token | undefined => {
    const contract = places.get(pool);
    return contract === undefined ? only : ofContract(contract);
  };
  const held = new Map(
    pools.map(({ contractAddress }) => ofContract(contractAddress)).map((token) => [token.address, token]),
  );
  return {
    first,
    only,
    inWallet: (token) => (isFirst(token) ? inWallet : null),
    ofContract,
    ofPool,
    ofPayment: (payment) =>
      'pool' in payment
        ? ofPool(payment.pool)
        : ofContract(('contract' in payment && payment.contract) || (contracts.lottery ?? '')),
    others: [...held.values()].filter((token) => !isFirst(token)),
  };
}
