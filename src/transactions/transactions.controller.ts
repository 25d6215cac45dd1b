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
  @ApiData(TransactionItem, { list: true, errors: [400, 401, 403, 404] })
  list(
    @CurrentUser() user: AuthenticatedUser,
    @Query() query: ListTransactionsQuery,
  ): Promise<Page<TransactionItem>> {
    return this.transactions.list(user, query);
  }

  @Get(':hash')
  @ApiData(TransactionDetail, { errors: [401, 403, 404] })
  detail(
    @CurrentUser() user: AuthenticatedUser,
    @Param('hash') hash: string,
  ): Promise<JsonText<TransactionDetail>> {
    return this.transactions.byHash(user, hash);
  }
}
