import { parseAbi } from 'viem';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';

const abi = parseAbi([
  'event PoolCreated(uint256 indexed id, address indexed creator, string name)',
  'event Paid(uint256 indexed id, address indexed member, uint256 amount)',
  'event TakenOut(uint256 indexed id, address indexed member, uint256 amount)',
  'event YieldPaid(uint256 indexed id, address indexed member, uint256 amount, uint256 fee)',
]);
const views = { balance: 'shares(uint256 pool, address account)' };
const calls = {
  deposit: 'pay(uint256 pool, uint256 amount)',
  withdraw: 'takeOut(uint256 pool, uint256 amount)',
  claim: 'takeYield(uint256 pool)',
};
type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof abi, Name>;
const On = eventsOf(abi);

/** Clubs of contracts/ForeignPools.sol, which have numbers. */
@PoolContract({
  name: 'clubs',
  types: ['cooperative'],
  abi,
  poolsBy: 'number',
  views,
  calls,
})
export class Clubs {
  @On('PoolCreated')
  created({ id, creator }: Event<'PoolCreated'>): Happening {
    return { kind: 'PoolOpened', poolNumber: id, account: creator };
  }

  @On('Paid')
  paid({ id, member, amount }: Event<'Paid'>): Happening {
    return { kind: 'Deposited', poolNumber: id, account: member, amount };
  }

  @On('TakenOut')
  takenOut({ id, member, amount }: Event<'TakenOut'>): Happening {
    return { kind: 'Withdrawn', poolNumber: id, account: member, amount };
  }

  @On('YieldPaid')
  yieldPaid({ id, member, amount, fee }: Event<'YieldPaid'>): Happening {
    return { kind: 'YieldClaimed', poolNumber: id, account: member, amount, fee };
  }
}
