import { Body, Controller, Delete, Get, Headers, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiBody, ApiHeader } from '@nestjs/swagger';
import type { JsonText } from '#platform/answers/json-text';
import type { Page } from '#platform/answers/pagination';
import { validationFailed } from '#platform/errors/errors';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import {
  CREATE_POOL_EXAMPLES,
  CancelledPoolId,
  CreatePoolRequest,
  CreatedPool,
  LeftPool,
  ListPoolsQuery,
  PoolDetail,
  PoolItem,
  UpdatePoolRequest,
  UpdatedPool,
  YieldReport,
} from './pools.dto';
import { PoolsService } from './pools.service';

@Controller('pools')
export class PoolsController {
  constructor(private readonly pools: PoolsService) {}

  @Get()
  @ApiData(PoolItem, {
    summary: 'List the pools of the caller',
    description:
      'Returns pools that the caller owns or is a member of, newest first, each with its ten newest transactions. With `after` the response has no `pagination`, and `page` is refused.',
    list: 'cursors',
    errors: [400, 401],
  })
  list(@CurrentUser() user: AuthenticatedUser, @Query() query: ListPoolsQuery): Promise<Page<PoolItem>> {
    return this.pools.list(user, query);
  }

  @Post()
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: '1 to 255 visible ASCII characters' })
  @ApiBody({ type: CreatePoolRequest, examples: CREATE_POOL_EXAMPLES })
  @ApiData(CreatedPool, {
    summary: 'Create a pool',
    description:
      'Creates a pool owned by the caller, and announces its first deposit, which stays pending until it is on the chain. After 503, or without a response, repeat the request with the same `Idempotency-Key`: at most one pool is created.',
    status: 201,
    errors: [
      400,
      'deposit_below_minimum',
      401,
      'idempotency_in_progress',
      'pool_exists',
      'pool_cancelled',
      413,
      415,
      422,
      'chain_unknown',
    ],
  })
  create(
    @CurrentUser() user: AuthenticatedUser,
    @Body() request: CreatePoolRequest,
    @Headers('idempotency-key') key: string | undefined,
  ): Promise<JsonText<CreatedPool>> {
    if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key))
      throw validationFailed({
        field: 'Idempotency-Key',
        message: 'must be 1 to 255 visible ASCII characters',
      });
    return this.pools.create(user, request, key);
  }

  @Get(':id')
  @ApiData(PoolDetail, {
    summary: 'Get a pool',
    description:
      'Returns balance, yield and the 100 newest transactions of a pool. For its owner and members.',
    errors: [401, 403, 404],
  })
  detail(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<JsonText<PoolDetail>> {
    return this.pools.detail(user, id);
  }

  @Get(':id/yield')
  @ApiData(YieldReport, {
    summary: 'Get the yield of a pool',
    description:
      'Returns the yield of the whole pool: `claimableYield` is what all savers can claim together.',
    errors: [401, 403, 404],
  })
  yieldReport(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
  ): Promise<JsonText<YieldReport>> {
    return this.pools.yieldReport(user, id);
  }

  @Patch(':id')
  @ApiData(UpdatedPool, {
    summary: 'Change the settings of a pool',
    description:
      'Sets `autoCompound`, the wish of the owner. Yield moves only for wallets that have enabled compounding on the chain: `compounding` reports it, and GET /pools/{id}/calls/compounding returns the call. Idempotent.',
    errors: [400, 401, 403, 404, 413, 415],
  })
  update(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Body() request: UpdatePoolRequest,
  ): Promise<JsonText<UpdatedPool>> {
    return this.pools.update(user, id, request);
  }

  @Delete(':id')
  @ApiData(CancelledPoolId, {
    summary: 'Cancel an unpaid pool',
    description:
      'Removes a pool that was never paid into, with its pending deposit. For its owner; idempotent. Where contracts use the pool ids of this service, a payment that arrives within 30 days restores the pool.',
    errors: ['invalid_json', 401, 403, 404, 'pool_not_empty', 'deposit_submitted', 413, 415, 'chain_unknown'],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<CancelledPoolId> {
    return this.pools.cancel(user, id);
  }

  @Delete(':id/membership')
  @ApiData(LeftPool, {
    summary: 'Leave a pool',
    description:
      'Removes the pool from the lists, totals and transactions of the caller. Returns 403 for the owner, and for everyone who is not a member.',
    errors: ['invalid_json', 401, 403, 'owner_cannot_leave', 404, 413, 415],
  })
  leave(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<JsonText<LeftPool>> {
    return this.pools.leave(user, id);
  }
}
