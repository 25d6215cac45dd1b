import { Controller, Get, Param, Query } from '@nestjs/common';
import { AuthenticatedUser, CurrentUser } from '../auth/current-user';
import { ApiData } from '../openapi/api-docs';
import type { JsonText } from '../common/json-text';
import type { Page } from '../common/pagination';
import { ListTransactionsQuery, TransactionDetail, TransactionItem } from './transactions.dto';
import { TransactionsService } from './transactions.service';

@Controller('transactions')
export class TransactionsController {
  constructor(private readonly transactions: TransactionsService) {}

  @Get()
  @ApiData(TransactionItem, {
    summary: 'List transactions',
    description:
      'Of all pools that the caller owns or is a member of, or of the one that `poolId` names, newest first.',
    list: true,
    errors: [400, 401, 403, 404],
  })
  list(
    @CurrentUser() user: AuthenticatedUser,
    @Query() query: ListTransactionsQuery,
  ): Promise<Page<TransactionItem>> {
    return this.transactions.list(user, query);
  }

  @Get(':hash')
  @ApiData(TransactionDetail, {
    summary: 'Read a transaction by its hash',
    description: 'For whoever may read its pool. Pending deposits have no hash yet.',
    errors: [401, 403, 404],
  })
  detail(
    @CurrentUser() user: AuthenticatedUser,
    @Param('hash') hash: string,
  ): Promise<JsonText<TransactionDetail>> {
    return this.transactions.byHash(user, hash);
  }
}
