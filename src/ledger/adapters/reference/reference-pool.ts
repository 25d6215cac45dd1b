import { Module } from '@nestjs/common';
import type { ContractEventName } from 'viem';
import { POOL_TYPES } from '#values/types';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';
import { contractAbi } from '#ledger/chain/contract.abi';
import { circleAbi } from '#ledger/chain/rotating.abi';

const abi = [...contractAbi, ...circleAbi] as const;
type Name = ContractEventName<typeof abi>;
type Event<Each extends Name> = EventOf<typeof abi, Each>;

/** The ledger's names of parameters that have other names in these contracts. */
const WORDS = {
  organiser: 'account',
  funder: 'account',
  winner: 'account',
  ticketPrice: 'amount',
  count: 'amount',
  contribution: 'amount',
  prize: 'amount',
  members: 'place',
  round: 'place',
  joinBy: 'time',
  roundEnd: 'time',
  nextEnd: 'time',
} as const;
type Words = typeof WORDS;
/** The events in the words of the ledger. The compiler compares them with its happenings. */
type Translated = {
  [Each in Name]: { kind: Each } & {
    [Of in keyof Event<Each> as Of extends keyof Words ? Words[Of] : Of]: Event<Each>[Of];
  };
}[Name];

/**
 * contracts/SavingsPool.sol, contracts/LotteryPool.sol, which is one with draws, and contracts/RotatingPool.sol. Rotating
 * pools may be in a SavingsPool too, as before there was a RotatingPool. The class has a method for each event, named
 * after it: `deposited` for `Deposited`.
 */
@PoolContract({
  types: POOL_TYPES,
  abi,
  numberedBy: 'seq',
  verifiedAs: 'ReferencePool',
})
export class ReferencePool {}

for (const item of abi) {
  if (item.type !== 'event') continue;
  const { name: kind } = item;
  const words = item.inputs.map(({ name }) => [name, WORDS[name as keyof Words] ?? name] as const);
  const value = (event: Record<string, unknown>): Happening => {
    const happening: Record<string, unknown> = { kind };
    for (const [name, word] of words) happening[word] = event[name];
    return happening as Translated;
  };
  const method = { value, configurable: true, writable: true };
  const name = kind.charAt(0).toLowerCase() + kind.slice(1);
  Object.defineProperty(ReferencePool.prototype, name, method);
  eventsOf(abi)(kind)(ReferencePool.prototype, name, method as never);
}

@Module({ providers: [ReferencePool] })
export class ReferenceModule {}
