import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { TX_HASH, parseTime } from '#values/rules';
import { JsonText } from '#platform/answers/json-text';
import { CursorPage, type Page, pageWithCursor } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { type ReadableRow, knownForm, readable } from '#platform/errors/readable';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { SUBMIT_DEPOSIT, TAKE_SUBMISSION_BACK } from '#features/pools/unpaid.sql';
import {
  BY_CURSOR,
  ListTransactionsQuery,
  SentRequest,
  TRANSACTION_CURSOR,
  TakeBackQuery,
  TransactionDetail,
  TransactionItem,
} from './transactions.dto';
import {
  LIST_POOL_TRANSACTIONS,
  LIST_TRANSACTIONS,
  POOL_TRANSACTIONS_AFTER,
  TRANSACTIONS_AFTER,
  TRANSACTION_BY_HASH,
  TRANSACTION_BY_ID,
} from './transactions.sql';

@Controller('transactions')
export class TransactionsController {
  constructor(private readonly database: Database) {}

  @Get()
  @ApiData(TransactionItem, {
    summary: 'List transactions',
    description:
      'Returns transactions of the pools of the caller and their payments into other pools, newest first. With `status`, `from`, `to`, `order` or `after` the list is read by cursor: no `pagination`, and `page` is refused.',
    list: 'cursors',
    errors: [400, 401, 403, 404],
  })
  async list(
    @CurrentUser() { userId: user, address: caller }: AuthenticatedUser,
    @Query() query: ListTransactionsQuery,
  ): Promise<Page<TransactionItem> | CursorPage<TransactionItem>> {
    const { page = 1, limit, type = null, status = null, order = 'desc', poolId } = query;
    const pool = poolId === undefined ? undefined : knownForm(poolId);
    if (BY_CURSOR.some((name) => query[name] !== undefined)) {
      const values = { caller, type, status, limit, ...idRange(query) };
      const row =
        pool === undefined
          ? await this.database.read(TRANSACTIONS_AFTER[order], { ...values, user })
          : await this.database.read(POOL_TRANSACTIONS_AFTER[order], { ...values, pool });
      return new CursorPage(readable(row), TRANSACTION_CURSOR);
    }
    const values = { caller, type, limit, offset: (page - 1) * limit };
    const row =
      pool === undefined
        ? await this.database.read(LIST_TRANSACTIONS, { ...values, user })
        : await this.database.read(LIST_POOL_TRANSACTIONS, { ...values, pool });
    return pageWithCursor(readable(row), query, TRANSACTION_CURSOR);
  }

  @Get('by-id/:id')
  @ApiData(TransactionDetail, {
    summary: 'Get a transaction by id',
    description:
      'Returns a transaction, pending deposits included. For everyone who can read its pool, and for the account that paid.',
    errors: [401, 403, 404],
  })
  async byId(
    @CurrentUser() { address: caller }: AuthenticatedUser,
    @Param('id') id: string,
  ): Promise<JsonText<TransactionDetail>> {
    return detail(await this.database.read(TRANSACTION_BY_ID, { id: knownForm(id), caller }));
  }

  @Get(':hash')
  @ApiData(TransactionDetail, {
    summary: 'Get a transaction by hash',
    description:
      'Returns a transaction on the chain; pending deposits have no hash. For everyone who can read its pool, and for the account that paid.',
    errors: [401, 403, 404],
  })
  async detail(
    @CurrentUser() { address: caller }: AuthenticatedUser,
    @Param('hash') hash: string,
  ): Promise<JsonText<TransactionDetail>> {
    const values = { hash: knownForm(hash, TX_HASH).toLowerCase(), caller };
    return detail(await this.database.read(TRANSACTION_BY_HASH, values));
  }

  @Post(':id/sent')
  @HttpCode(200)
  @ApiData(TransactionDetail, {
    summary: 'Report a submitted deposit payment',
    description:
      'Stores the hash of the transaction that pays a deposit, so that no device pays it again. For the account that pays. Another hash replaces the first. A hash does not confirm the deposit; the chain does.',
    errors: [400, 'invalid_json', 401, 403, 404, 413, 415],
  })
  async sent(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Body() { hash }: SentRequest,
  ): Promise<JsonText<TransactionDetail>> {
    const values = { id: knownForm(id), caller: user.address, hash: hash.toLowerCase() };
    readable(await this.database.write(SUBMIT_DEPOSIT, values));
    return this.byId(user, id);
  }

  @Delete(':id/sent')
  @ApiData(TransactionDetail, {
    summary: 'Clear a submitted deposit payment',
    description:
      'Clears the hash of a deposit payment that no node has shown, within seconds; the deposit can then be paid again. A transaction that still reaches the chain confirms the deposit. For the account that pays.',
    errors: [400, 'invalid_json', 401, 403, 404, 413, 415],
  })
  async takeBack(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { hash }: TakeBackQuery,
  ): Promise<JsonText<TransactionDetail>> {
    const values = { id: knownForm(id), caller: user.address, hash: hash?.toLowerCase() ?? null };
    readable(await this.database.write(TAKE_SUBMISSION_BACK, values));
    return this.byId(user, id);
  }
}

const detail = (row: ReadableRow | undefined): JsonText<TransactionDetail> =>
  new JsonText(readable(row).data);

/** UUIDv7 begins with 48 bits of milliseconds since 1970. */
const MAX_TIME_MS = 2 ** 48 - 1;

const uuid = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
/** Below all ids of that time or later, above all earlier ids. */
const startOf = (ms: number): string => uuid(ms.toString(16).padStart(12, '0') + '0'.repeat(20));

/**
 * The range of ids for a query, without its two bounds. An id is a UUIDv7 of the time when the transaction was
 * created, so a time has a place among ids.
 */
function idRange({
  from,
  to,
  after,
  order = 'desc',
}: Pick<ListTransactionsQuery, 'from' | 'to' | 'after' | 'order'>): { above: string; below: string } {
  const place = (time: string): string => startOf(Math.min(Math.max(parseTime(time)!, 0), MAX_TIME_MS));
  let above = from === undefined ? startOf(0) : place(from);
  let below = to === undefined ? uuid('f'.repeat(32)) : place(to);
  if (after !== undefined) {
    const id = TRANSACTION_CURSOR.decode(after)!.toLowerCase();
    // Use the narrower of the two bounds. Ids sort like their text.
    if (order === 'asc' && id > above) above = id;
    if (order === 'desc' && id < below) below = id;
  }
  return { above, below };
}
