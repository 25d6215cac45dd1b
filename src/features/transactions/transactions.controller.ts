import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import type { JsonText } from '#platform/answers/json-text';
import type { CursorPage, Page } from '#platform/answers/pagination';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import {
  ListTransactionsQuery,
  SentRequest,
  TakeBackQuery,
  TransactionDetail,
  TransactionItem,
} from './transactions.dto';
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

  @Post(':id/sent')
  @HttpCode(200)
  @ApiData(TransactionDetail, {
    summary: 'Tell that the payment of a deposit was sent',
    description:
      'By the account that is to pay the deposit, as soon as its wallet gives a hash: all its devices see `submitted`, and GET /pools/{id}/calls/deposit refuses a second payment. Another hash takes the place of the first, as when a wallet speeds a transaction up; the same one again changes nothing. It confirms nothing by itself, but if the transaction pays another amount into the pool, as where a contract keeps a fee, the deposit is confirmed with that amount. It ends when the deposit is on the chain, or when a final block has the transaction without a payment into the pool, or another with its sender and nonce. One that was dropped can still be mined; DELETE takes back what no node has shown. Of a deposit that is on the chain already the answer is the deposit as it is.',
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
    summary: 'Take back that the payment of a deposit was sent',
    description:
      'By the account that is to pay it. A hash that no node has shown is forgotten, and the deposit can be paid again; where the service has not looked for it yet, it does so within seconds, and `submitted` stays until then. If the transaction reaches the chain after all, it confirms the deposit all the same. A transaction that a node has shown may still be mined, so its `submitted` stays, and the service looks now whether a final block has it, failed, or another in its place.',
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
