import { Module } from '@nestjs/common';
import { POOL_TYPES } from '#values/types';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';
import { contractAbi } from '#ledger/chain/contract.abi';
import { circleAbi } from '#ledger/chain/rotating.abi';

const abi = [...contractAbi, ...circleAbi] as const;

type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof abi, Name>;
const On = eventsOf(abi);

/**
 * contracts/SavingsPool.sol, contracts/LotteryPool.sol, which is one with draws, and contracts/RotatingPool.sol. Rotating
 * pools may be in a SavingsPool too, as before there was a RotatingPool.
 */
@PoolContract({
  types: POOL_TYPES,
  abi,
  numberedBy: 'seq',
  verifiedAs: 'ReferencePool',
})
export class ReferencePool {
  @On('Deposited')
  deposited({ poolId, ref, account, amount }: Event<'Deposited'>): Happening {
    return { kind: 'Deposited', poolId, ref, account, amount };
  }

  @On('Withdrawn')
  withdrawn({ poolId, ref, account, amount }: Event<'Withdrawn'>): Happening {
    return { kind: 'Withdrawn', poolId, ref, account, amount };
  }

  @On('YieldClaimed')
  yieldClaimed({ poolId, ref, account, amount }: Event<'YieldClaimed'>): Happening {
    return { kind: 'YieldClaimed', poolId, ref, account, amount };
  }

  @On('YieldAccrued')
  yieldAccrued({ poolId, amount, aprBps }: Event<'YieldAccrued'>): Happening {
    return { kind: 'YieldAccrued', poolId, amount, aprBps };
  }

  @On('CompoundingStarted')
  compoundingStarted({ poolId, account }: Event<'CompoundingStarted'>): Happening {
    return { kind: 'CompoundingStarted', poolId, account };
  }

  @On('CompoundingStopped')
  compoundingStopped({ poolId, account }: Event<'CompoundingStopped'>): Happening {
    return { kind: 'CompoundingStopped', poolId, account };
  }

  @On('DrawOpened')
  drawOpened({ drawId, ticketPrice, drawTime }: Event<'DrawOpened'>): Happening {
    return { kind: 'DrawOpened', drawId, amount: ticketPrice, drawTime };
  }

  @On('TicketsIssued')
  ticketsIssued({ drawId, account, count }: Event<'TicketsIssued'>): Happening {
    return { kind: 'TicketsIssued', drawId, account, amount: count };
  }

  @On('PrizeFunded')
  prizeFunded({ drawId, funder, amount }: Event<'PrizeFunded'>): Happening {
    return { kind: 'PrizeFunded', drawId, account: funder, amount };
  }

  @On('DrawClosed')
  drawClosed({ drawId }: Event<'DrawClosed'>): Happening {
    return { kind: 'DrawClosed', drawId };
  }

  @On('DrawCompleted')
  drawCompleted({ drawId, winner, prize }: Event<'DrawCompleted'>): Happening {
    return { kind: 'DrawCompleted', drawId, account: winner, amount: prize };
  }

  @On('DrawCancelled')
  drawCancelled({ drawId }: Event<'DrawCancelled'>): Happening {
    return { kind: 'DrawCancelled', drawId };
  }

  @On('PrizePaid')
  prizePaid({ drawId, winner, amount }: Event<'PrizePaid'>): Happening {
    return { kind: 'PrizePaid', drawId, account: winner, amount };
  }

  @On('Refunded')
  refunded({ drawId, account, amount }: Event<'Refunded'>): Happening {
    return { kind: 'Refunded', drawId, account, amount };
  }

  @On('CircleOpened')
  circleOpened(event: Event<'CircleOpened'>): Happening {
    const { circleId, poolId, organiser, contribution, collateral, period, members, joinBy } = event;
    return {
      kind: 'CircleOpened',
      circleId,
      poolId,
      account: organiser,
      amount: contribution,
      collateral,
      period,
      place: members,
      time: joinBy,
    };
  }

  @On('MemberNamed')
  memberNamed({ circleId, poolId, account, place }: Event<'MemberNamed'>): Happening {
    return { kind: 'MemberNamed', circleId, poolId, account, place };
  }

  @On('Joined')
  joined({ circleId, poolId, ref, account, amount }: Event<'Joined'>): Happening {
    return { kind: 'Joined', circleId, poolId, ref, account, amount };
  }

  @On('CircleStarted')
  circleStarted({ circleId, poolId, roundEnd }: Event<'CircleStarted'>): Happening {
    return { kind: 'CircleStarted', circleId, poolId, time: roundEnd };
  }

  @On('Contributed')
  contributed({ circleId, poolId, ref, account, round, amount }: Event<'Contributed'>): Happening {
    return { kind: 'Contributed', circleId, poolId, ref, account, place: round, amount };
  }

  @On('CollateralUsed')
  collateralUsed({ circleId, poolId, account, round, amount }: Event<'CollateralUsed'>): Happening {
    return { kind: 'CollateralUsed', circleId, poolId, account, place: round, amount };
  }

  @On('RoundEnded')
  roundEnded({ circleId, poolId, account, round, amount, nextEnd }: Event<'RoundEnded'>): Happening {
    return { kind: 'RoundEnded', circleId, poolId, account, place: round, amount, time: nextEnd };
  }

  @On('CircleCompleted')
  circleCompleted({ circleId, poolId }: Event<'CircleCompleted'>): Happening {
    return { kind: 'CircleCompleted', circleId, poolId };
  }

  @On('CircleCancelled')
  circleCancelled({ circleId, poolId }: Event<'CircleCancelled'>): Happening {
    return { kind: 'CircleCancelled', circleId, poolId };
  }

  @On('PaidOut')
  paidOut({ circleId, poolId, ref, account, amount }: Event<'PaidOut'>): Happening {
    return { kind: 'PaidOut', circleId, poolId, ref, account, amount };
  }

  @On('CircleRefunded')
  circleRefunded({ circleId, poolId, ref, account, amount }: Event<'CircleRefunded'>): Happening {
    return { kind: 'CircleRefunded', circleId, poolId, ref, account, amount };
  }
}

@Module({ providers: [ReferencePool] })
export class ReferenceModule {}
