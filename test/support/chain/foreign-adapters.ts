import { Module } from '@nestjs/common';
import { parseAbi } from 'viem';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';

const savingsAbi = parseAbi([
  'event Saved(address indexed account, uint256 amount)',
  'event Unsaved(address indexed account, uint256 amount)',
  'event RewardPaid(address indexed account, uint256 amount, uint256 fee)',
]);
const SAVINGS = { balance: 'savings(address account)', total: 'savings(address pool)' };
const SAVINGS_CALLS = {
  deposit: 'save(uint256 amount)',
  withdraw: 'unsave(uint256 amount)',
  claim: 'takeReward()',
};
const OnSavings = eventsOf(savingsAbi);

/** AccountSavings of ForeignPools.sol: an account's savings are its pool. */
@PoolContract({
  name: 'accounts',
  types: ['individual'],
  abi: savingsAbi,
  poolsBy: 'account',
  views: SAVINGS,
  calls: SAVINGS_CALLS,
})
export class AccountSavings {
  @OnSavings('Saved')
  saved({ account, amount }: EventOf<typeof savingsAbi, 'Saved'>): Happening {
    return { kind: 'Deposited', poolAccount: account, account, amount };
  }

  @OnSavings('Unsaved')
  unsaved({ account, amount }: EventOf<typeof savingsAbi, 'Unsaved'>): Happening {
    return { kind: 'Withdrawn', poolAccount: account, account, amount };
  }

  @OnSavings('RewardPaid')
  rewardPaid({ account, amount, fee }: EventOf<typeof savingsAbi, 'RewardPaid'>): Happening {
    return { kind: 'YieldClaimed', poolAccount: account, account, amount, fee };
  }
}

/** The same, of which nobody has told the calls. */
@PoolContract({ name: 'untold', types: ['individual'], abi: savingsAbi, poolsBy: 'account', views: SAVINGS })
export class UntoldSavings extends AccountSavings {}

const clubsAbi = parseAbi([
  'event PoolCreated(uint256 indexed id, address indexed creator, string name)',
  'event Paid(uint256 indexed id, address indexed member, uint256 amount)',
  'event TakenOut(uint256 indexed id, address indexed member, uint256 amount)',
  'event YieldPaid(uint256 indexed id, address indexed member, uint256 amount, uint256 fee)',
]);
const CLUBS = { balance: 'shares(uint256 pool, address account)' };
const CLUBS_CALLS = {
  deposit: 'pay(uint256 pool, uint256 amount)',
  withdraw: 'takeOut(uint256 pool, uint256 amount)',
  claim: 'takeYield(uint256 pool)',
};
const OnClubs = eventsOf(clubsAbi);

/** Clubs of ForeignPools.sol, which have numbers. */
@PoolContract({
  name: 'clubs',
  types: ['cooperative'],
  abi: clubsAbi,
  poolsBy: 'number',
  views: CLUBS,
  calls: CLUBS_CALLS,
})
export class Clubs {
  @OnClubs('PoolCreated')
  created({ id, creator }: EventOf<typeof clubsAbi, 'PoolCreated'>): Happening {
    return { kind: 'PoolOpened', poolNumber: id, account: creator };
  }

  @OnClubs('Paid')
  paid({ id, member, amount }: EventOf<typeof clubsAbi, 'Paid'>): Happening | undefined {
    return amount === 0n ? undefined : { kind: 'Deposited', poolNumber: id, account: member, amount };
  }

  @OnClubs('TakenOut')
  takenOut({ id, member, amount }: EventOf<typeof clubsAbi, 'TakenOut'>): Happening {
    return { kind: 'Withdrawn', poolNumber: id, account: member, amount };
  }

  @OnClubs('YieldPaid')
  yieldPaid({ id, member, amount, fee }: EventOf<typeof clubsAbi, 'YieldPaid'>): Happening {
    return { kind: 'YieldClaimed', poolNumber: id, account: member, amount, fee };
  }
}

const kittyAbi = parseAbi([
  'event PutIn(address indexed member, uint256 amount)',
  'event TookOut(address indexed member, uint256 amount)',
  'event Rewarded(address indexed member, uint256 amount, uint256 fee)',
]);
const KITTY = { balance: 'shareOf(address account)', total: 'total()' };
const KITTY_CALLS = {
  deposit: 'putIn(uint256 amount)',
  withdraw: 'takeOut(uint256 amount)',
  claim: 'takeReward()',
};
const OnKitty = eventsOf(kittyAbi);

/** Kitty of ForeignPools.sol, which is one pool. */
@PoolContract({
  name: 'kitty',
  types: ['cooperative'],
  abi: kittyAbi,
  poolsBy: 'contract',
  views: KITTY,
  calls: KITTY_CALLS,
})
export class Kitty {
  @OnKitty('PutIn')
  putIn({ member, amount }: EventOf<typeof kittyAbi, 'PutIn'>): Happening {
    return { kind: 'Deposited', isContract: true, account: member, amount };
  }

  @OnKitty('TookOut')
  tookOut({ member, amount }: EventOf<typeof kittyAbi, 'TookOut'>): Happening {
    return { kind: 'Withdrawn', isContract: true, account: member, amount };
  }

  @OnKitty('Rewarded')
  rewarded({ member, amount, fee }: EventOf<typeof kittyAbi, 'Rewarded'>): Happening {
    return { kind: 'YieldClaimed', isContract: true, account: member, amount, fee };
  }
}

@Module({ providers: [AccountSavings, Clubs, Kitty, UntoldSavings] })
export class ForeignModule {}
