import { Injectable } from '@nestjs/common';
import type { AuthenticatedUser } from '../auth/current-user';
import { forbidden, notFound } from '../common/errors';
import { JsonText } from '../common/json-text';
import { Page } from '../common/pagination';
import { TX_HASH, UUID } from '../common/rules';
import { Database } from '../database/database';
import type { ListTransactionsQuery, TransactionDetail, TransactionItem } from './transactions.dto';
import {
  DEEP,
  LIST_DEEP_TRANSACTIONS,
  LIST_POOL_TRANSACTIONS,
  LIST_TRANSACTIONS,
  TRANSACTION_DETAIL,
} from './transactions.sql';

@Injectable()
export class TransactionsService {
  constructor(private readonly database: Database) {}

  /**
   * Transactions of every pool that the caller may read, or of one, newest first. Of a pool of others that the caller
   * paid into, only these payments.
   * @throws ApiError 404 for an unknown pool, 403 for one that the caller may not read and never paid into
   */
  async list(caller: AuthenticatedUser, query: ListTransactionsQuery): Promise<Page<TransactionItem>> {
    const { page, limit, type, poolId } = query;
    if (poolId !== undefined && !UUID.test(poolId)) throw notFound();
    const offset = (page - 1) * limit;
    const ofAll = offset > DEEP ? LIST_DEEP_TRANSACTIONS : LIST_TRANSACTIONS;
    const row = await this.database.read<{ total: number; data: string | null }>(
      poolId === undefined ? ofAll : LIST_POOL_TRANSACTIONS,
      [poolId ?? caller.userId, type ?? null, limit, offset, caller.address],
    );
    if (!row) throw notFound();
    if (row.data === null) throw forbidden();
    return new Page(new JsonText(row.data), row.total, query);
  }

  /** @throws ApiError 404 for an unknown hash, 403 when the caller neither paid it nor may read its pool */
  async byHash(caller: AuthenticatedUser, hash: string): Promise<JsonText<TransactionDetail>> {
    if (!TX_HASH.test(hash)) throw notFound();
    const row = await this.database.read<{ data: string | null }>(TRANSACTION_DETAIL, [
      hash.toLowerCase(),
      caller.address,
    ]);
    if (!row) throw notFound();
    if (row.data === null) throw forbidden();
    return new JsonText(row.data);
  }
}
