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
    summary: 'Get the calls that pay out a prize',
    description: 'Returns the call that sends the prize to the winner. Any wallet can send it.',
    errors: [400, 401, 404, 'wrong_draw_status', 'already_paid', 'calls_unknown', 'chain_unknown'],
  })
  claim(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.call('claimPrize', user, query);
  }

  @Get('refund')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that refund a cancelled draw',
    description: 'Returns the refund of all that the wallet paid into the draw, for tickets and as gifts.',
    errors: [400, 401, 404, 'wrong_draw_status', 'nothing_to_refund', 'calls_unknown', 'chain_unknown'],
  })
  refund(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.call('refund', user, query);
  }

  @Get('complete')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pick the winner of a closed draw',
    description:
      'Returns the call that picks the winner, from the second block after the close on. Any wallet can send it. Once the block hash is out of reach, the call lets another block pick and is due again.',
    errors: [400, 401, 404, 'wrong_draw_status', 'too_early', 'calls_unknown', 'chain_unknown'],
  })
  complete(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.call('completeDraw', user, query);
  }

  @Get('cancel')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that cancel an abandoned draw',
    description:
      'Returns the call that cancels a draw still open seven days after its time. Any wallet can send it. A closed draw cannot be cancelled.',
    errors: [400, 401, 404, 'wrong_draw_status', 'too_early', 'calls_unknown', 'chain_unknown'],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.calls.call('cancelDraw', user, query);
  }
}
