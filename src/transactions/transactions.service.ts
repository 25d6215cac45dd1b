import { Injectable } from '@nestjs/common';
import type { AuthenticatedUser } from '../auth/current-user';
import { JsonText } from '../common/json-text';
import { Page } from '../common/pagination';
import { knownForm, readable } from '../common/readable';
import { TX_HASH } from '../common/rules';
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
    const { page, limit, type = null, poolId } = query;
    const { userId: user, address } = caller;
    const offset = (page - 1) * limit;
    const values = { address, type, limit, offset };
    const ofAll = offset > DEEP ? LIST_DEEP_TRANSACTIONS : LIST_TRANSACTIONS;
    const { data, total } = readable(
      poolId === undefined
        ? await this.database.read(ofAll, { ...values, user })
        : await this.database.read(LIST_POOL_TRANSACTIONS, { ...values, pool: knownForm(poolId) }),
    );
    return new Page(new JsonText(data), total, query);
  }

  /** @throws ApiError 404 for an unknown hash, 403 when the caller neither paid it nor may read its pool */
  async byHash(caller: AuthenticatedUser, hash: string): Promise<JsonText<TransactionDetail>> {
    const row = await this.database.read(TRANSACTION_DETAIL, {
      hash: knownForm(hash, TX_HASH).toLowerCase(),
      address: caller.address,
    });
    return new JsonText(readable(row).data);
  }
}
