import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import type { JsonText } from '#platform/answers/json-text';
import type { Page } from '#platform/answers/pagination';
import { ApiData } from '#platform/openapi/api-docs';
import { TransactionItem } from '#ledger/chain/transaction-item';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { ListTransactionsQuery, SentRequest, TakeBackQuery, TransactionDetail } from './transactions.dto';
import { TransactionsService } from './transactions.service';

@Controller('transactions')
export class TransactionsController {
  constructor(private readonly transactions: TransactionsService) {}

  @Get()
  @ApiData(TransactionItem, {
    summary: 'List transactions',
    description:
      'Returns transactions of the pools of the caller and their payments into other pools, newest first. With `status`, `from`, `to`, `order` or `after` the list is read by cursor: no `pagination`, and `page` is refused.',
    list: 'cursors',
    errors: [400, 401, 403, 404],
  })
  list(
    @CurrentUser() user: AuthenticatedUser,
    @Query() query: ListTransactionsQuery,
  ): Promise<Page<TransactionItem>> {
    return this.transactions.list(user, query);
  }

  @Get('by-id/:id')
  @ApiData(TransactionDetail, {
    summary: 'Get a transaction by id',
    description:
      'Returns a transaction, pending deposits included. For everyone who can read its pool, and for the account that paid.',
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
    summary: 'Get a transaction by hash',
    description:
      'Returns a transaction on the chain; pending deposits have no hash. For everyone who can read its pool, and for the account that paid.',
    errors: [401, 403, 404],
  })
  detail(
    @CurrentUser() user: AuthenticatedUser,
    @Param('hash') hash: string,
  ): Promise<JsonText<TransactionDetail>> {
    return this.transactions.byHash(user, hash);
  }

  @Post(':id/sent')
  @ApiData(TransactionDetail, {
    summary: 'Report a submitted deposit payment',
    description:
      'Stores the hash of the transaction that pays a deposit, so that no device pays it again. For the account that pays. Another hash replaces the first. A hash does not confirm the deposit; the chain does.',
    errors: [400, 'invalid_json', 401, 403, 404, 413, 415],
  })
  sent(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Body() { hash }: SentRequest,
  ): Promise<JsonText<TransactionDetail>> {
    return this.transactions.sent(user, id, hash);
  }

  @Delete(':id/sent')
  @ApiData(TransactionDetail, {
    summary: 'Clear a submitted deposit payment',
    description:
      'Clears the hash of a deposit payment that no node has shown, within seconds; the deposit can then be paid again. A transaction that still reaches the chain confirms the deposit. For the account that pays.',
    errors: [400, 'invalid_json', 401, 403, 404, 413, 415],
  })
  takeBack(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { hash }: TakeBackQuery,
  ): Promise<JsonText<TransactionDetail>> {
    return this.transactions.takeBack(user, id, hash);
  }
}
