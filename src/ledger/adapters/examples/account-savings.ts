import { parseAbi } from 'viem';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';

export const abi = parseAbi([
  'event Saved(address indexed account, uint256 amount)',
  'event Unsaved(address indexed account, uint256 amount)',
  'event RewardPaid(address indexed account, uint256 amount, uint256 fee)',
]);
const views = { balance: 'savings(address account)', total: 'savings(address pool)' };
const calls = {
  deposit: 'save(uint256 amount)',
  withdraw: 'unsave(uint256 amount)',
  claim: 'takeReward()',
};
type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof abi, Name>;
const On = eventsOf(abi);

/** AccountSavings of contracts/ForeignPools.sol: an account's savings are its pool. */
@PoolContract({
  name: 'accounts',
  types: ['individual'],
  abi,
  poolsBy: 'account',
  views,
  calls,
})
export class AccountSavings {
  @On('Saved')
  saved({ account, amount }: Event<'Saved'>): Happening {
    return { kind: 'Deposited', poolAccount: account, account, amount };
  }

  @On('Unsaved')
  unsaved({ account, amount }: Event<'Unsaved'>): Happening {
    return { kind: 'Withdrawn', poolAccount: account, account, amount };
  }

  @On('RewardPaid')
  rewardPaid({ account, amount, fee }: Event<'RewardPaid'>): Happening {
    return { kind: 'YieldClaimed', poolAccount: account, account, amount, fee };
  }
}
