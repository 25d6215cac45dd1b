import { Injectable } from '@nestjs/common';
import { TX_HASH, parseTime } from '#values/rules';
import { JsonText } from '#platform/answers/json-text';
import { type Page, pageWithCursor } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { knownForm, readable } from '#platform/errors/readable';
import type { TransactionItem } from '#ledger/chain/transaction-item';
import type { AuthenticatedUser } from '#features/access/current-user';
import { SUBMIT_DEPOSIT, TAKE_SUBMISSION_BACK } from '#features/pools/unpaid.sql';
import {
  BY_CURSOR,
  type ListTransactionsQuery,
  TRANSACTION_CURSOR,
  type TransactionDetail,
} from './transactions.dto';
import {
  LIST_POOL_TRANSACTIONS,
  LIST_TRANSACTIONS,
  POOL_TRANSACTIONS_AFTER,
  TRANSACTIONS_AFTER,
  TRANSACTION_BY_HASH,
  TRANSACTION_BY_ID,
} from './transactions.sql';

@Injectable()
export class TransactionsService {
  constructor(private readonly database: Database) {}

  /**
   * Transactions of all pools that the caller may read, or of one pool. Newest first unless the query says otherwise.
   * If the caller only paid into a pool of others, the list contains only these payments.
   */
  async list(
    { userId: user, address: caller }: AuthenticatedUser,
    query: ListTransactionsQuery,
  ): Promise<Page<TransactionItem>> {
    const { page = 1, limit, type = null, status = null, order = 'desc', poolId } = query;
    const pool = poolId === undefined ? undefined : knownForm(poolId);
    if (BY_CURSOR.some((name) => query[name] !== undefined)) {
      const values = { caller, type, status, limit, ...idRange(query) };
      const row =
        pool === undefined
          ? await this.database.read(TRANSACTIONS_AFTER[order], { ...values, user })
          : await this.database.read(POOL_TRANSACTIONS_AFTER[order], { ...values, pool });
      return pageWithCursor(readable(row), query, TRANSACTION_CURSOR);
    }
    const values = { caller, type, limit, offset: (page - 1) * limit };
    const row =
      pool === undefined
        ? await this.database.read(LIST_TRANSACTIONS, { ...values, user })
        : await this.database.read(LIST_POOL_TRANSACTIONS, { ...values, pool });
    return pageWithCursor(readable(row), query, TRANSACTION_CURSOR);
  }

  async byHash(caller: AuthenticatedUser, hash: string): Promise<JsonText<TransactionDetail>> {
    const row = await this.database.read(TRANSACTION_BY_HASH, {
      hash: knownForm(hash, TX_HASH).toLowerCase(),
      caller: caller.address,
    });
    return new JsonText(readable(row).data);
  }

  async byId({ address: caller }: AuthenticatedUser, id: string): Promise<JsonText<TransactionDetail>> {
    const row = await this.database.read(TRANSACTION_BY_ID, { id: knownForm(id), caller });
    return new JsonText(readable(row).data);
  }

  /** Notes that the caller has sent the payment of the deposit. Changes nothing if that is already on the chain. */
  async sent(caller: AuthenticatedUser, id: string, hash: string): Promise<JsonText<TransactionDetail>> {
    const values = { id: knownForm(id), caller: caller.address, hash: hash.toLowerCase() };
    readable(await this.database.write(SUBMIT_DEPOSIT, values));
    return this.byId(caller, id);
  }

  async takeBack(caller: AuthenticatedUser, id: string, hash?: string): Promise<JsonText<TransactionDetail>> {
    const values = { id: knownForm(id), caller: caller.address, hash: hash?.toLowerCase() ?? null };
    readable(await this.database.write(TAKE_SUBMISSION_BACK, values));
    return this.byId(caller, id);
  }
}

/** UUIDv7 begins with 48 bits of milliseconds since 1970. */
const MAX_TIME_MS = 2 ** 48 - 1;

/** Below all ids of that time or later, above all earlier ids. Without dashes, which PostgreSQL does not need. */
const startOf = (ms: number): string => ms.toString(16).padStart(12, '0') + '0'.repeat(20);

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
  let below = to === undefined ? 'f'.repeat(32) : place(to);
  if (after !== undefined) {
    const id = TRANSACTION_CURSOR.decode(after)!.toLowerCase().replaceAll('-', '');
    // Use the narrower of the two bounds. Ids sort like their text.
    if (order === 'asc' && id > above) above = id;
    if (order === 'desc' && id < below) below = id;
  }
  return { above, below };
}
