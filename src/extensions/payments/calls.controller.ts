import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import {
  CompoundingCallsQuery,
  ContractCalls,
  DepositCallsQuery,
  DrawCallsQuery,
  TicketCallsQuery,
  WithdrawCallsQuery,
} from './calls.dto';
import { CallsService } from './calls.service';

@Controller()
export class CallsController {
  constructor(private readonly calls: CallsService) {}

  @Get('pools/:id/calls/deposit')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pay into a pool',
    description:
      'Returns the approval of exactly this amount, unless it is sent as `value`, then the deposit. With `transaction` the payment confirms that pending deposit of the caller. Returns 409 `deposit_submitted` while its payment is on its way.',
    errors: [
      400,
      'below_minimum',
      401,
      403,
      404,
      'transaction_not_pending',
      'deposit_submitted',
      'uses_circle',
      'calls_unknown',
      'contract_refuses',
      'chain_unknown',
    ],
  })
  deposit(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() query: DepositCallsQuery,
  ): Promise<ContractCalls> {
    return this.calls.deposit(user, id, query);
  }

  @Get('pools/:id/calls/withdraw')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that withdraw from a pool',
    description:
      'Returns the withdrawal of up to the balance of the wallet; yield stays claimable. For members, and everyone who ever paid in. Refuses what the contract would refuse, unless the ledger is behind.',
    errors: [
      400,
      'below_minimum',
      401,
      403,
      404,
      'insufficient_balance',
      'uses_circle',
      'calls_unknown',
      'contract_refuses',
      'chain_unknown',
    ],
  })
  withdraw(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { amount }: WithdrawCallsQuery,
  ): Promise<ContractCalls> {
    return this.calls.withdraw(user, id, amount);
  }

  @Get('pools/:id/calls/claim')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that claim yield from a pool',
    description:
      'Returns the claim of all yield that the wallet has not claimed yet. For members, and everyone who ever paid in. Refused if there is none, unless the ledger is behind.',
    errors: [
      401,
      403,
      404,
      'nothing_to_claim',
      'uses_circle',
      'calls_unknown',
      'contract_refuses',
      'chain_unknown',
    ],
  })
  claim(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.claim(user, id);
  }

  @Get('pools/:id/calls/compounding')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that enable or disable compounding',
    description:
      'Returns the call with which a wallet enables or disables compounding of its own yield in this pool; `compounding` of the position reports the state. For members, and everyone who ever paid in.',
    errors: [400, 401, 403, 404, 'compounding_unchanged', 'uses_circle', 'calls_unknown', 'chain_unknown'],
  })
  compounding(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { enabled }: CompoundingCallsQuery,
  ): Promise<ContractCalls> {
    return this.calls.compounding(user, id, enabled === 'true');
  }

  @Get('lottery/calls/tickets')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that buy tickets of the current draw',
    description:
      'Returns the approval of their price, then the purchase. Returns 404 while no draw sells tickets.',
    errors: [400, 401, 'no_open_draw', 'calls_unknown', 'chain_unknown'],
  })
  tickets(@Query() { count }: TicketCallsQuery): Promise<ContractCalls> {
    return this.calls.tickets(count);
  }
}

/** What can be done to a draw is in `due` of the draw, or of the caller's entry. */
@Controller('lottery/calls')
@ApiTags('Calls')
export class DrawCallsController {
  constructor(private readonly calls: CallsService) {}

  @Get('claim')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pay out a prize',
    description: 'Returns the call that sends the prize to the winner. Any wallet can send it.',
    errors: [400, 401, 404, 'wrong_draw_status', 'already_paid', 'calls_unknown', 'chain_unknown'],
  })
  claim(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.ofDraw('claimPrize', user, query);
  }

  @Get('refund')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that refund a cancelled draw',
    description: 'Returns the refund of all that the wallet paid into the draw, for tickets and as gifts.',
    errors: [400, 401, 404, 'wrong_draw_status', 'nothing_to_refund', 'calls_unknown', 'chain_unknown'],
  })
  refund(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.ofDraw('refund', user, query);
  }

  @Get('complete')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pick the winner of a closed draw',
    description:
      'Returns the call that picks the winner, from the second block after the close on. Any wallet can send it. Once the block hash is out of reach, the call lets another block pick and is due again.',
    errors: [400, 401, 404, 'wrong_draw_status', 'too_early', 'calls_unknown', 'chain_unknown'],
  })
  complete(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.ofDraw('completeDraw', user, query);
  }

  @Get('cancel')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that cancel an abandoned draw',
    description:
      'Returns the call that cancels a draw still open seven days after its time. Any wallet can send it. A closed draw cannot be cancelled.',
    errors: [400, 401, 404, 'wrong_draw_status', 'too_early', 'calls_unknown', 'chain_unknown'],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.ofDraw('cancelDraw', user, query);
  }
}
