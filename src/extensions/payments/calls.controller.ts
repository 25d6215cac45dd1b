import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import {
  CompoundingCallsQuery,
  ContractCalls,
  DepositCallsQuery,
  TicketCallsQuery,
  WithdrawCallsQuery,
} from './calls.dto';
import { CallsService } from './calls.service';

@Controller()
export class CallsController {
  constructor(private readonly calls: CallsService) {}

  @Get('pools/:id/calls/deposit')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to pay into a pool',
    description:
      'The approval of exactly this amount, then the deposit. Where the contract knows a pool by its account, every call is for the owner of the pool alone. With `transaction` the payment carries the id of that pending deposit of the caller, so that it confirms just this one. 409 `deposit_submitted` while a payment of it is on its way: see POST /transactions/{id}/sent.',
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
    summary: 'What a wallet sends to take its money out of a pool',
    description:
      'The contract pays no more than this wallet has in the pool; yield stays claimable. For members, and for everyone who ever paid in, also after leaving. What the contract must refuse is refused, unless the ledger may be behind the chain.',
    errors: [
      400,
      'below_minimum',
      401,
      403,
      404,
      'insufficient_balance',
      'uses_circle',
      'calls_unknown',
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
    summary: 'What a wallet sends to claim its yield from a pool',
    description:
      'The contract pays all that this wallet has earned and not claimed yet. For members, and for everyone who ever paid in, also after leaving. With nothing to claim it is refused, unless the ledger may be behind the chain.',
    errors: [401, 403, 404, 'nothing_to_claim', 'uses_circle', 'calls_unknown', 'chain_unknown'],
  })
  claim(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.calls.claim(user, id);
  }

  @Get('pools/:id/calls/compounding')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to have its yield paid in again, or not',
    description:
      'After `startCompounding` anyone may pay the yield of this wallet in again, into this pool: the keeper does. After `stopCompounding` yield waits to be claimed. Each wallet says it for itself; `compounding` of GET /pools/{id}/position tells what it has said. For members, and for everyone who ever paid in, also after leaving. What is so already is refused, unless the ledger may be behind the chain.',
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
    summary: 'What a wallet sends to buy tickets of the current draw',
    description:
      'The approval of their price, then the purchase. 404 while no draw sells tickets: none is open, or its time has come.',
    errors: [400, 401, 'no_open_draw', 'chain_unknown'],
  })
  tickets(@Query() { count }: TicketCallsQuery): Promise<ContractCalls> {
    return this.calls.tickets(count);
  }
}
