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
    summary: 'Report a submitted deposit payment',
    description:
      'Stores the transaction hash of a deposit payment. For the account that pays, as soon as its wallet returns a hash: all its devices see `submitted`, and GET /pools/{id}/calls/deposit refuses a second payment. Another hash replaces the first, as when a wallet speeds a transaction up; the same hash again changes nothing. A hash does not confirm the deposit. If the transaction pays another amount into the pool, as where a contract keeps a fee, the deposit is confirmed with that amount. `submitted` ends when the deposit is on the chain, or when a final block has the transaction without a payment into the pool, or another with its sender and nonce. A dropped transaction can still be mined; DELETE clears a hash that no node has shown. For a deposit that is already on the chain, the answer is the unchanged deposit.',
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
      'Clears the transaction hash of a deposit payment, if no node has shown it; the deposit can then be paid again. For the account that pays. If the service has not looked for the hash yet, it does so within seconds, and `submitted` stays until then. A transaction that still reaches the chain confirms the deposit. A transaction that a node has shown can still be mined, so its `submitted` stays, and the service checks at once whether a final block has it, failed, or another in its place.',
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
