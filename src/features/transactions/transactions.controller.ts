import { Controller, Get, Param, Query } from '@nestjs/common';
import type { JsonText } from '#platform/answers/json-text';
import type { CursorPage, Page } from '#platform/answers/pagination';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { ListTransactionsQuery, TransactionDetail, TransactionItem } from './transactions.dto';
import { TransactionsService } from './transactions.service';

@Controller('transactions')
export class TransactionsController {
  constructor(private readonly transactions: TransactionsService) {}

  @Get()
  @ApiData(TransactionItem, {
    summary: 'List transactions',
    description:
      'Of all pools that the caller owns or is a member of, and what he paid into others, or of the pool that `poolId` names; newest first. Whoever is neither owner nor member of that pool sees what he paid himself. With `status`, `from`, `to`, `order` or `after` the list is read by cursor: the answer has no `pagination`, and `page` is refused.',
    list: 'cursors',
    errors: [400, 401, 403, 404],
  })
  list(
    @CurrentUser() user: AuthenticatedUser,
    @Query() query: ListTransactionsQuery,
  ): Promise<Page<TransactionItem> | CursorPage<TransactionItem>> {
    return this.transactions.list(user, query);
  }

  @Get('by-id/:id')
  @ApiData(TransactionDetail, {
    summary: 'Read a transaction by its id',
    description: 'For whoever may read its pool, and for whoever paid it. Pending deposits too.',
    errors: [401, 403, 404],
  })
  byId(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
  ): Promise<JsonText<TransactionDetail>> {
    return this.transactions.byId(user, id);
  }

  @Get(':hash')
  @ApiData(TransactionDetail, {
    summary: 'Read a transaction by its hash',
    description: 'For whoever may read its pool, and for whoever paid it. Pending deposits have no hash yet.',
    errors: [401, 403, 404],
  })
  detail(
    @CurrentUser() user: AuthenticatedUser,
    @Param('hash') hash: string,
  ): Promise<JsonText<TransactionDetail>> {
    return this.transactions.byHash(user, hash);
  }
}
