import { parseAbi } from 'viem';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';

const abi = parseAbi([
  'event PutIn(address indexed member, uint256 amount)',
  'event TookOut(address indexed member, uint256 amount)',
  'event Rewarded(address indexed member, uint256 amount, uint256 fee)',
]);
const views = { balance: 'shareOf(address account)', total: 'total()' };
const calls = {
  deposit: 'putIn(uint256 amount)',
  withdraw: 'takeOut(uint256 amount)',
  claim: 'takeReward()',
};
type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof abi, Name>;
const On = eventsOf(abi);

/** Kitty of contracts/ForeignPools.sol, which is one pool. */
@PoolContract({
  name: 'kitty',
  types: ['cooperative'],
  abi,
  poolsBy: 'contract',
  views,
  calls,
})
export class Kitty {
  @On('PutIn')
  putIn({ member, amount }: Event<'PutIn'>): Happening {
    return { kind: 'Deposited', isContract: true, account: member, amount };
  }

  @On('TookOut')
  tookOut({ member, amount }: Event<'TookOut'>): Happening {
    return { kind: 'Withdrawn', isContract: true, account: member, amount };
  }

  @On('Rewarded')
  rewarded({ member, amount, fee }: Event<'Rewarded'>): Happening {
    return { kind: 'YieldClaimed', isContract: true, account: member, amount, fee };
  }
}
