import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, eventsOf } from '#ledger/adapters/pool-contract';
import { circleAbi } from '#ledger/chain/rotating.abi';

type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof circleAbi, Name>;
const On = eventsOf(circleAbi);

/** The events of contracts/RotatingPool.sol. */
export abstract class ReferenceCircles {
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
