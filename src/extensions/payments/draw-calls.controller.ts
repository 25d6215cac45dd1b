import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { ContractCalls } from './calls.dto';
import { DrawCallsQuery } from './draw-calls.dto';
import { DrawCallsService } from './draw-calls.service';

/** What can be done to a draw is in `due` of the draw, or of the caller's entry. */
@Controller('lottery/calls')
@ApiTags('Calls')
export class DrawCallsController {
  constructor(private readonly calls: DrawCallsService) {}

  @Get('claim')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to have a prize paid',
    description: 'Any wallet may send it, and pay the gas; the prize goes to the winner.',
    errors: [400, 401, 404, 'wrong_draw_status', 'already_paid', 'chain_unknown'],
  })
  claim(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.call('claimPrize', user, query);
  }

  @Get('refund')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to get a refund from a cancelled draw',
    description: 'All that this wallet paid into the draw, for tickets and as gifts.',
    errors: [400, 401, 404, 'wrong_draw_status', 'nothing_to_refund', 'chain_unknown'],
  })
  refund(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.call('refund', user, query);
  }

  @Get('complete')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to pick the winner of a closed draw',
    description:
      'Any wallet may send it, from the second block after the close on. If nobody has for so long that the block hash is out of reach (8191 blocks, on some chains 256), it closes the draw anew, and is due once more: another block picks.',
    errors: [400, 401, 404, 'wrong_draw_status', 'too_early', 'chain_unknown'],
  })
  complete(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.call('completeDraw', user, query);
  }

  @Get('cancel')
  @ApiData(ContractCalls, {
    summary: 'What a wallet sends to cancel a draw that nobody ends',
    description:
      'Any wallet may send it, for a draw that is open seven days after its time. A closed draw cannot be cancelled. The owner of the contract may cancel an open draw at any time, at the contract itself.',
    errors: [400, 401, 404, 'wrong_draw_status', 'too_early', 'chain_unknown'],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.call('cancelDraw', user, query);
  }
}
