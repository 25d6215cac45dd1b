import { POOL_TYPES } from '#values/types';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';
import { contractAbi } from '#ledger/chain/contract.abi';
import { circleAbi } from '#ledger/chain/rotating.abi';
import { ReferenceCircles } from './reference-circles';

type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof contractAbi, Name>;
const On = eventsOf(contractAbi);

/**
 * contracts/SavingsPool.sol, contracts/LotteryPool.sol, which is one with draws, and contracts/RotatingPool.sol. Rotating
 * pools may be in a SavingsPool too, as before there was a RotatingPool.
 */
@PoolContract({
  types: POOL_TYPES,
  abi: [...contractAbi, ...circleAbi],
  numberedBy: 'seq',
  verifiedAs: 'ReferencePool',
})
export class ReferencePool extends ReferenceCircles {
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
}
