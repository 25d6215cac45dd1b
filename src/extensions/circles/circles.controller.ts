import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { JsonText } from '#platform/answers/json-text';
import { Database } from '#platform/database/database';
import { namedError, notFound } from '#platform/errors/errors';
import { knownForm, readable } from '#platform/errors/readable';
import { ApiData, type DocumentedError } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { ContractCalls } from '#extensions/payments/calls.dto';
import { CirclePaymentQuery, OpenCircleQuery, PoolRounds } from './circles.dto';
import { CircleCallsService } from './circles.service';
import { POOL_ROUNDS } from './circles.sql';

@Controller('pools')
@ApiTags('Circles')
export class CirclesController {
  constructor(private readonly database: Database) {}

  @Get(':id/rounds')
  @ApiData(PoolRounds, {
    summary: 'Get the savings circle of a pool',
    description:
      "Returns terms, members and rounds of the circle, the caller's place in it, and the calls that the caller can send now. For everyone who can read the pool, and the members of the circle.",
    errors: [401, 403, 404, 'no_circle'],
  })
  async rounds(
    @CurrentUser() { address: caller }: AuthenticatedUser,
    @Param('id') id: string,
  ): Promise<JsonText<PoolRounds>> {
    const row = await this.database.read(POOL_ROUNDS, { pool: knownForm(id), caller });
    if (!row) throw notFound();
    const { data } = readable(row);
    if (!row.hasCircles) throw namedError('no_circle');
    return new JsonText(data);
  }
}

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
  'calls_unknown',
  'chain_unknown',
];

/** What can be done to a circle is in `can` of GET /pools/{id}/rounds. */
@Controller('pools/:id/calls')
@ApiTags('Circles')
export class CircleCallsController {
  constructor(private readonly calls: CircleCallsService) {}

  @Get('open')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that open the circle of a pool',
    description:
      'Returns the call that opens the circle of a rotating pool, with terms that never change. For its owner: only the first circle that the owner opens belongs to the pool.',
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
    summary: 'Get the calls that join a circle',
    description:
      'Returns the approval of the collateral, if any, then the call to join. For the named members. The first round starts when all have joined.',
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
    summary: 'Get the calls that pay for the current round',
    description:
      'Returns the approval of the contribution, then the payment, once in a round. The collateral pays for members who do not.',
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
    summary: 'Get the calls that pay out a pot',
    description: 'Returns the call that pays out all pots due to the wallet.',
    errors: [401, 403, 404, 'no_circle', 'nothing_in_circle', 'chain_unknown'],
  })
  payout(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.call('payout', user, id);
  }

  @Get('refund')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that refund a circle',
    description:
      'Returns the call that refunds, once the circle is over, the remaining collateral and, of a cancelled circle, the payment for the last round.',
    errors: [401, 403, 404, 'no_circle', 'wrong_circle_state', 'nothing_in_circle', 'chain_unknown'],
  })
  refund(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.call('refund', user, id);
  }

  @Get('endRound')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that end the round of a circle',
    description:
      'Returns the call that ends the round, once all have paid or its time is over. Any wallet can send it. If a collateral does not cover a missing payment, the circle ends.',
    errors: [401, 403, 404, 'no_circle', 'wrong_circle_state', 'too_early', 'chain_unknown'],
  })
  endRound(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.call('endRound', user, id);
  }

  @Get('cancel')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that cancel a waiting circle',
    description:
      'Returns the call that cancels a circle before all have joined: for the organiser at any time, for any wallet once the time for joining is over.',
    errors: [401, 403, 404, 'no_circle', 'wrong_circle_state', 'too_early', 'chain_unknown'],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.call('cancel', user, id);
  }
}
