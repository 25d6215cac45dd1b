import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { createHash } from 'node:crypto';
import type { Counter } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import type { AuthenticatedUser } from '../auth/current-user';
import { ApiError, forbidden, invalidToken, notFound, validationFailed } from '../common/errors';
import { JsonText } from '../common/json-text';
import { Page } from '../common/pagination';
import { UUID, canonicalAmount } from '../common/rules';
import { Environment } from '../config/environment';
import { Database, Statement } from '../database/database';
import type {
  CreatePoolRequest,
  CreatedPool,
  LeftPool,
  ListPoolsQuery,
  PoolDetail,
  PoolItem,
  YieldReport,
} from './pools.dto';
import {
  CREATE_POOL,
  CREATE_POOL_ONCE,
  FIND_ANSWER,
  LEAVE_POOL,
  LIST_POOLS,
  POOL_DETAIL,
  POOL_YIELD,
} from './pools.sql';

const MAX_MEMBERS = 100;
const MEMBER_LIMIT = `must hold at most ${MAX_MEMBERS} different addresses`;

@Injectable()
export class PoolsService {
  constructor(
    private readonly database: Database,
    private readonly environment: Environment,
    @InjectMetric('pools_created_total') private readonly created: Counter<'type'>,
  ) {}

  /** The pools that the caller owns or is a member of, newest first. */
  async list(caller: AuthenticatedUser, query: ListPoolsQuery): Promise<Page<PoolItem>> {
    const { page, limit, type } = query;
    const row = await this.database.read<{ total: number; data: string }>(LIST_POOLS, [
      caller.address,
      type ?? null,
      limit,
      (page - 1) * limit,
    ]);
    return new Page(new JsonText(row!.data), row!.total, query);
  }

  /** @throws ApiError 404 for an unknown pool, 403 for one that the caller may not read */
  detail(caller: AuthenticatedUser, id: string): Promise<JsonText<PoolDetail>> {
    return this.readable(POOL_DETAIL, caller, id);
  }

  yieldReport(caller: AuthenticatedUser, id: string): Promise<JsonText<YieldReport>> {
    return this.readable(POOL_YIELD, caller, id);
  }

  private async readable<T>(
    statement: Statement,
    caller: AuthenticatedUser,
    id: string,
  ): Promise<JsonText<T>> {
    if (!UUID.test(id)) throw notFound();
    const row = await this.database.read<{ data: string | null }>(statement, [id, caller.address]);
    if (!row) throw notFound();
    if (row.data === null) throw forbidden();
    return new JsonText(row.data);
  }

  /**
   * Creates the pool, its members and its pending DEPOSIT in one statement.
   * @param key makes a repeated request return the first answer for 24 hours
   * @throws ApiError 400 below the minimum deposit; 409 while the first request with the key is running; 422 when
   * the key was used for another request
   */
  async create(
    caller: AuthenticatedUser,
    request: CreatePoolRequest,
    key?: string,
  ): Promise<JsonText<CreatedPool>> {
    const amount = canonicalAmount(request.initialDeposit)!;
    if (BigInt(amount) < BigInt(this.environment.MIN_DEPOSIT))
      throw new ApiError(400, 'Initial deposit below minimum');
    const members = new Set(request.members.map((member) => member.toLowerCase()));
    members.delete(caller.address);
    if (members.size > MAX_MEMBERS) throw validationFailed({ field: 'members', message: MEMBER_LIMIT });

    const now = new Date();
    const pool: CreatedPool = {
      id: uuidv7({ msecs: now.getTime() }),
      type: request.type,
      contractAddress: this.environment.POOL_CONTRACTS.get(request.type)!.at(-1)!,
      balance: amount,
      createdAt: now.toISOString(),
    };
    const values = [
      pool.id,
      pool.type,
      caller.userId,
      pool.contractAddress,
      request.autoCompound,
      [...members],
      pool.createdAt,
      caller.address,
      uuidv7({ msecs: now.getTime() }),
      amount,
    ];
    const answer = JSON.stringify(pool);
    if (key === undefined) {
      await this.run(CREATE_POOL, values);
    } else {
      const { type, autoCompound } = request;
      const hash = createHash('sha256')
        .update(JSON.stringify([type, amount, autoCompound, [...members].sort()]))
        .digest('hex');
      const row = await this.run(CREATE_POOL_ONCE, [...values, key, hash, answer]);
      if (!row?.id) return this.firstAnswer(caller, key, hash);
    }
    this.created.inc({ type: pool.type });
    return new JsonText(answer);
  }

  /**
   * Ends the caller's membership: the pool leaves his lists, and he reads it no more.
   * @throws ApiError 404 for an unknown pool, 403 for its owner and for whoever is no member, or is one no more
   */
  async leave(caller: AuthenticatedUser, id: string): Promise<LeftPool> {
    if (!UUID.test(id)) throw notFound();
    const found = await this.database.write(LEAVE_POOL, { pool: id, member: caller.address });
    if (!found) throw notFound();
    if (found.role === 'OWNER') throw new ApiError(403, 'The owner cannot leave the pool');
    if (!found.left) throw forbidden();
    return { poolId: id };
  }

  private async run(statement: Statement, values: unknown[]): Promise<{ id: string | null } | undefined> {
    try {
      return await this.database.write<{ id: string | null }>(statement, values);
    } catch (error) {
      // The token outlived its user's record.
      if ((error as { constraint?: unknown }).constraint === 'pools_owner_id_fkey') throw invalidToken();
      throw error;
    }
  }

  private async firstAnswer(
    caller: AuthenticatedUser,
    key: string,
    hash: string,
  ): Promise<JsonText<CreatedPool>> {
    const first = await this.database.read<{ requestHash: string; response: string }>(FIND_ANSWER, [
      caller.userId,
      key,
    ]);
    if (!first) throw new ApiError(409, 'A request with this Idempotency-Key is still running');
    if (first.requestHash !== hash) throw new ApiError(422, 'Idempotency-Key was used for another request');
    return new JsonText(first.response);
  }
}
