import { Body, Controller, Delete, Get, Headers, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiBody, ApiHeader } from '@nestjs/swagger';
import type { JsonText } from '#platform/answers/json-text';
import type { CursorPage, Page } from '#platform/answers/pagination';
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
      'Pools that the caller owns or is a member of, newest first, each with its ten newest transactions. With `after` the answer has no `pagination`, and `page` is refused.',
    list: 'cursors',
    errors: [400, 401],
  })
  list(
    @CurrentUser() user: AuthenticatedUser,
    @Query() query: ListPoolsQuery,
  ): Promise<Page<PoolItem> | CursorPage<PoolItem>> {
    return this.pools.list(user, query);
  }

  @Post()
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: '1 to 255 visible ASCII characters',
  })
  @ApiBody({ type: CreatePoolRequest, examples: CREATE_POOL_EXAMPLES })
  @ApiData(CreatedPool, {
    summary: 'Create a pool',
    description:
      'Makes the pool and announces its first deposit, which stays pending until it is seen on the chain. The caller owns the pool; the members may read it. After 503, or no answer at all, send the same request with the same Idempotency-Key again, when the seconds in Retry-After have passed: that makes one pool at most, and gets the first answer as soon as it is known, and 409 `idempotency_in_progress` until then, or 422 `pool_cancelled` when the pool was cancelled since. 503 `unavailable` means that no pool was made and none will be. 503 `outcome_unknown` means that the connection to the database was lost on the way, or its standby did not confirm: there may be a pool, or may be one later, and only the key tells.',
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
    summary: 'Read a pool',
    description: 'For its owner and members: what it holds and yields, and its 100 newest transactions.',
    errors: [401, 403, 404],
  })
  detail(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<JsonText<PoolDetail>> {
    return this.pools.detail(user, id);
  }

  @Get(':id/yield')
  @ApiData(YieldReport, {
    summary: 'Read the yield of a pool',
    description:
      'Of the whole pool, not of the caller alone: `claimableYield` is what all who paid in can claim together.',
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
      'For its owner. `autoCompound` says what the owner wants of the pool. Yield moves only for wallets that have said so on the chain, each for its own: `compounding` tells whether the owner has, and GET /pools/{id}/calls/compounding gives the call. Idempotent.',
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
    summary: 'Cancel a pool that was never paid',
    description:
      'Removes a pool that was never paid, with its pending deposit, from the lists and totals of all users. For its owner alone; idempotent. The service also does this itself, a week after the announcement of a deposit that has expired. If the contract names pools by their ids here, a payment that still arrives within 30 days brings the pool back unchanged. At other contracts none does, so the answer is 503 `chain_unknown` while the indexer may not have seen all payments. 409 `deposit_submitted` while a payment is on its way, for 30 days if none arrives: see DELETE /transactions/{id}/sent.',
    errors: ['invalid_json', 401, 403, 404, 'pool_not_empty', 'deposit_submitted', 413, 415, 'chain_unknown'],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<CancelledPoolId> {
    return this.pools.cancel(user, id);
  }

  @Delete(':id/membership')
  @ApiData(LeftPool, {
    summary: 'Leave a pool',
    description:
      'The pool leaves the lists, totals and transactions of the caller. The owner cannot leave. A second time it is 403, as for everyone who is no member.',
    errors: ['invalid_json', 401, 403, 'owner_cannot_leave', 404, 413, 415],
  })
  leave(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<JsonText<LeftPool>> {
    return this.pools.leave(user, id);
  }
}
