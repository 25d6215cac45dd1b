import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApiData, type DocumentedError } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { ContractCalls } from '#extensions/payments/calls.dto';
import { CirclePaymentQuery, OpenCircleQuery } from './circle-calls.dto';
import { CircleCallsService } from './circle-calls.service';

const ERRORS_OF_PAYMENT: DocumentedError[] = [
  400,
  401,
  403,
  404,
  'no_circle',
  'wrong_circle_state',
  'already_done',
  'too_late',
  'transaction_not_pending',
  'deposit_submitted',
  'chain_unknown',
];

/** What can be done to a circle is in `can` of GET /pools/{id}/rounds. */
@Controller('pools/:id/calls')
@ApiTags('Circles')
export class CircleCallsController {
  constructor(private readonly calls: CircleCallsService) {}

  @Get('open')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to open the circle of a pool',
    description:
      "Only the owner of a rotating pool, once: anyone may open a circle for any pool, but only the first that its owner opens is the pool's. The terms never change.",
    errors: [400, 'below_minimum', 401, 403, 404, 'no_circle', 'circle_exists', 'chain_unknown'],
  })
  open(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() query: OpenCircleQuery,
  ): Promise<ContractCalls> {
    return this.calls.open(user, id, query);
  }

  @Get('join')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to join a circle',
    description:
      'For the members that it names: the approval of the collateral, if there is one, then the joining. When all have joined, the first round begins.',
    errors: ERRORS_OF_PAYMENT,
  })
  join(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { transaction }: CirclePaymentQuery,
  ): Promise<ContractCalls> {
    return this.calls.call('join', user, id, transaction);
  }

  @Get('contribute')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to pay for the current round',
    description:
      'The approval of the contribution, then the payment: once in a round, before its time is over. For who has not paid, the collateral pays.',
    errors: ERRORS_OF_PAYMENT,
  })
  contribute(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { transaction }: CirclePaymentQuery,
  ): Promise<ContractCalls> {
    return this.calls.call('contribute', user, id, transaction);
  }

  @Get('payout')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to be paid its pot',
    description: 'All pots that are due to this wallet and not paid out yet.',
    errors: [401, 403, 404, 'no_circle', 'nothing_in_circle', 'chain_unknown'],
  })
  payout(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.call('claimPayout', user, id);
  }

  @Get('refund')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to get back what it locked',
    description:
      'Once the circle is over: what is left of the collateral and, of a circle that was cancelled, what this wallet paid for the last round.',
    errors: [401, 403, 404, 'no_circle', 'wrong_circle_state', 'nothing_in_circle', 'chain_unknown'],
  })
  refund(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.call('claimRefund', user, id);
  }

  @Get('endRound')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to end the round of a circle',
    description:
      'Any wallet may send it once all have paid, or the time of the round is over. Where a collateral does not reach, it ends the circle.',
    errors: [401, 403, 404, 'no_circle', 'wrong_circle_state', 'too_early', 'chain_unknown'],
  })
  endRound(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.call('endRound', user, id);
  }

  @Get('cancel')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to cancel a circle that waits',
    description:
      'Before all have joined: the organiser at any time, any wallet once the time for joining is over.',
    errors: [401, 403, 404, 'no_circle', 'wrong_circle_state', 'too_early', 'chain_unknown'],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.call('cancelCircle', user, id);
  }
}
