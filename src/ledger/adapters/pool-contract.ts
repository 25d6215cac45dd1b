import { Injectable, SetMetadata, applyDecorators } from '@nestjs/common';
import type { Abi, ContractEventArgsFromTopics, ContractEventName } from 'viem';
import type { PoolType } from '#values/types';
import type { Happening } from './happening';

export const POOL_CONTRACT = 'pool contract';
export const CONTRACT_EVENT = 'contract event';

/** The chain's own coin where a token is named: by ERC-7528, as vaults that hold it name their asset. */
export const NATIVE_COIN = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** What clients show of the chain's own coin. Its amounts are in wei. */
export interface NativeCoin {
  symbol: string;
  decimals: number;
}

export interface PoolContractOptions {
  /** For `type:name=0x…` in POOL_CONTRACTS, lower case. The adapter without a name is that of `type=0x…`. */
  name?: string;
  /** The types of pools that its contracts may serve. */
  types: readonly PoolType[];
  abi: Abi;
  /**
   * The parameter by which the contract numbers all its events, from 1, as its `seq()` counts them: that proves that none is
   * missing. One that the adapter does not read would look like one that a node has left out. A contract that does not
   * number its events is proven by headers and receipts instead: see docs/completeness.md.
   */
  numberedBy?: string;
  /**
   * The view that names its ERC-20 token, such as `MUSD()`, or the token's address. Without it: `token()` or `asset()`. Of a
   * contract that holds the chain's own coin, what clients show: `{ symbol: 'BTC', decimals: 18 }`.
   */
  token?: string | NativeCoin;
  /** How its events name a pool. Without it: 'reference'. */
  poolsBy?: PoolsBy;
  /**
   * The contract's functions that give the balance of an account in a pool, and of all of the pool, such as
   * `shares(uint256 pool, address account)`: `verify` asks them. The parameters are called `pool` and `account`. A function
   * that returns several values or a struct names the one that is meant `value`:
   * `members(address account) returns (uint256 value, uint64 since)`. Without them only the events tell. Of vaults, `price` says what so many shares are worth, such as `convertToAssets(uint256 amount)`:
   * the indexer asks it, and tells what pools have earned by it.
   */
  views?: { balance?: string; total?: string; price?: string };
  /**
   * The contract's functions that a wallet calls, such as `save(uint256 amount)`, for GET /pools/:id/calls/… Their parameters
   * are called as the fields of `CallValues`. The chain's own coin is sent along with the deposit. Calls that are not
   * there, the service does not build: 409 `calls_unknown`. Subclasses of `ReferencePool` have its calls.
   */
  calls?: OwnCalls;
  /**
   * The independent reader by which `verify` compares the content of events: it has one for the contracts of this
   * repository and one for vaults. A subclass without methods of its own is compared as the class that it extends. For
   * other adapters, `verify` reports that it compares positions and balances alone.
   */
  verifiedAs?: 'ReferencePool' | 'Vault';
}

/** The calls of a pool that an adapter may describe, by the last part of their path. */
export type OwnCall = 'deposit' | 'withdraw' | 'claim';
export type OwnCalls = Partial<Record<OwnCall, string>>;

/**
 * How events name a pool, and how that is tied to a pool of the service.
 * - `reference`: by the service's own id, 16 bytes: `poolId`.
 * - `number`: by a number that the contract makes: `poolNumber`. The pool that `PoolOpened` names is the first pool that
 *   its account has made in the service for this contract, and that has no number yet.
 * - `account`: an account has one pool at the contract: `poolAccount`. It is the account's only one in the service for
 *   this contract: a second one is refused.
 * - `contract`: the contract is one pool: `isContract`. It is the first that anyone has made in the service for this
 *   contract: a second one is refused.
 */
export type PoolsBy = 'reference' | 'number' | 'account' | 'contract';

/** The parameters of an event, as viem gives them, but addresses are in lower case. */
export type EventOf<Of extends Abi, Name extends ContractEventName<Of>> = ContractEventArgsFromTopics<
  Of,
  Name
>;

/**
 * The class says what the events of a contract mean: its methods that are marked with `@On` of `eventsOf` get an event's
 * parameters and return what happened, or nothing. They are pure functions: the same events are read again after
 * reorganisations, by every process. One event may say two things, such as `[Withdrawn, YieldClaimed]`: what is paid in
 * takes effect first, the other after all other events of its block. Contracts that number their events say one.
 */
export const PoolContract = (options: PoolContractOptions): ClassDecorator =>
  applyDecorators(SetMetadata(POOL_CONTRACT, options), Injectable());

type OnEvent<Of extends Abi> = <Name extends ContractEventName<Of>>(
  name: Name,
) => <Method extends (event: EventOf<Of, Name>) => Happening | readonly Happening[] | undefined>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/** The decorator `@On('Deposited')` for methods that read the events of this ABI. */
export const eventsOf =
  <const Of extends Abi>(_abi: Of): OnEvent<Of> =>
  (name) =>
  (target, key, descriptor) =>
    SetMetadata(CONTRACT_EVENT, name)(target, key, descriptor as PropertyDescriptor);
