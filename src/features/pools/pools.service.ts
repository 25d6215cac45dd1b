import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { createHash } from 'node:crypto';
import type { Counter } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { canonicalAmount } from '#values/rules';
import type { PoolType } from '#values/types';
import { JsonText } from '#platform/answers/json-text';
import { type Page, pageWithCursor } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import {
  type ApiError,
  forbidden,
  invalidToken,
  namedError,
  notFound,
  validationFailed,
} from '#platform/errors/errors';
import { type ReadableRow, knownForm, readable } from '#platform/errors/readable';
import type { TypedStatement } from '#platform/postgres/statement';
import { ChainSettings } from '#ledger/chain/chain.settings';
import type { AuthenticatedUser } from '#features/access/current-user';
import { PoolsSettings } from './pools.settings';
import {
  type CancelledPoolId,
  type CreatePoolRequest,
  type CreatedPool,
  type LeftPool,
  type ListPoolsQuery,
  POOL_CURSOR,
  type PoolDetail,
  type PoolItem,
  type UpdatePoolRequest,
  type UpdatedPool,
  type YieldReport,
} from './pools.dto';
import {
  CREATE_POOLS,
  CREATE_POOLS_ONCE,
  FIRST_ANSWER,
  LEAVE_POOL,
  LIST_POOLS,
  type NewPools,
  POOL_DETAIL,
  POOL_YIELD,
  UPDATE_POOL,
} from './pools.sql';
import { CANCEL_POOL } from './unpaid.sql';

const MAX_MEMBERS = 100;
const MEMBER_LIMIT = `must hold at most ${MAX_MEMBERS} different addresses`;

const hashOf = (request: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(request)).digest('hex');

@Injectable()
export class PoolsService {
  /** Ids made so far, modulo 2^31. */
  private made = 0;

  constructor(
    private readonly database: Database,
    private readonly settings: PoolsSettings,
    private readonly chain: ChainSettings,
    @InjectMetric('pools_created_total') private readonly created: Counter<'type'>,
  ) {}

  async list({ address: caller }: AuthenticatedUser, query: ListPoolsQuery): Promise<Page<PoolItem>> {
    const { page = 1, limit, type = null, after } = query;
    const values = {
      caller,
      type,
      limit,
      offset: (page - 1) * limit,
      after: POOL_CURSOR.decode(after) ?? null,
    };
    return pageWithCursor((await this.database.read(LIST_POOLS, values))!, query, POOL_CURSOR);
  }

  detail(caller: AuthenticatedUser, id: string): Promise<JsonText<PoolDetail>> {
    return this.read(POOL_DETAIL, caller, id);
  }

  yieldReport(caller: AuthenticatedUser, id: string): Promise<JsonText<YieldReport>> {
    return this.read(POOL_YIELD, caller, id);
  }

  private async read<T>(
    statement: TypedStatement<{ pool: string; caller: string }, ReadableRow>,
    { address: caller }: AuthenticatedUser,
    id: string,
  ): Promise<JsonText<T>> {
    const row = await this.database.read(statement, { pool: knownForm(id), caller });
    return new JsonText(readable(row).data);
  }

  /** The reason why the settings refuse a new pool. A repeated request may have passed before they changed. */
  private refusal(type: PoolType, contract: string | null, amount: string): ApiError | undefined {
    const { POOL_CONTRACTS } = this.chain;
    if (contract === null)
      return validationFailed({ field: 'type', message: `${type} has no contract here` });
    if (contract !== POOL_CONTRACTS.newest(type) && !POOL_CONTRACTS.furtherOf(type).includes(contract))
      return validationFailed({ field: 'contract', message: `must be one of new ${type} pools` });
    const { MIN_DEPOSIT, MIN_DEPOSITS } = this.settings;
    const isEnough = BigInt(amount) >= BigInt(MIN_DEPOSITS.get(contract) ?? MIN_DEPOSIT);
    return isEnough ? undefined : namedError('deposit_below_minimum');
  }

  /** Ids of the same millisecond sort in the order in which this process made them. */
  private newId(msecs: number): string {
    this.made = (this.made + 1) & 0x7fffffff;
    return uuidv7({ msecs, seq: this.made });
  }

  /**
   * Creates the pool, its members and its pending DEPOSIT in one statement, perhaps together with those of others.
   * @param key makes a repeated request return the first answer for 24 hours, even if the settings have changed
   */
  async create(
    caller: AuthenticatedUser,
    request: CreatePoolRequest,
    key?: string,
  ): Promise<JsonText<CreatedPool>> {
    const amount = canonicalAmount(request.initialDeposit)!;
    const members = new Set(request.members.map((member) => member.toLowerCase()));
    members.delete(caller.address);
    if (members.size > MAX_MEMBERS) throw validationFailed({ field: 'members', message: MEMBER_LIMIT });

    const { type, autoCompound, contract } = request;
    const contractAddress = contract?.toLowerCase() ?? this.chain.POOL_CONTRACTS.newest(type);
    // null is as absent.
    const asked = typeof contract === 'string' ? [contractAddress] : [];
    const once = key !== undefined && {
      key,
      requestHash: hashOf([type, amount, autoCompound, [...members].sort(), ...asked]),
    };
    const refusal = this.refusal(type, contractAddress, amount);
    if (refusal && once) return this.firstAnswer(caller, once, refusal);
    if (refusal) throw refusal;
    const now = Date.now();
    const pool: CreatedPool = {
      id: this.newId(now),
      type,
      contractAddress: contractAddress!,
      balance: amount,
      createdAt: new Date(now).toISOString(),
      depositId: this.newId(now),
    };
    const values: NewPools = {
      pools: [pool.id],
      types: [pool.type],
      owners: [caller.userId],
      contracts: [pool.contractAddress],
      autoCompound: [autoCompound],
      members: [`{${[...members].join()}}`],
      createdAt: [pool.createdAt],
      ownerAddresses: [caller.address],
      deposits: [pool.depositId],
      amounts: [amount],
    };
    const answer = JSON.stringify(pool);
    if (once) {
      const keyed = { ...values, keys: [once.key], requestHashes: [once.requestHash], answers: [answer] };
      const rows = await this.written(this.database.writeJoined(CREATE_POOLS_ONCE, keyed));
      if (!rows.some((row) => row.pool === pool.id))
        return this.firstAnswer(caller, once, namedError('idempotency_in_progress'));
    } else {
      await this.written(this.database.writeJoined(CREATE_POOLS, values));
    }
    this.created.inc({ type: pool.type });
    return new JsonText(answer);
  }

  async update(
    { address: caller }: AuthenticatedUser,
    id: string,
    changes: UpdatePoolRequest,
  ): Promise<JsonText<UpdatedPool>> {
    const values = { ...changes, pool: knownForm(id), caller };
    return new JsonText(readable(await this.database.write(UPDATE_POOL, values)).data);
  }

  async leave(caller: AuthenticatedUser, id: string): Promise<JsonText<LeftPool>> {
    const found = await this.database.write(LEAVE_POOL, { pool: knownForm(id), caller: caller.address });
    if (found?.role === 'OWNER') throw namedError('owner_cannot_leave');
    return new JsonText(readable(found).data);
  }

  /** Removes a pool into which nothing was ever paid, with its pending deposit. Idempotent. */
  async cancel(caller: AuthenticatedUser, id: string): Promise<CancelledPoolId> {
    const pool = knownForm(id).toLowerCase();
    const { outcome } = (await this.database.write(CANCEL_POOL, { pool, caller: caller.address }))!;
    if (outcome === null) throw notFound();
    if (outcome === 'forbidden') throw forbidden();
    if (outcome === 'unknown') throw namedError('chain_unknown');
    if (outcome !== 'cancelled')
      throw namedError(outcome === 'submitted' ? 'deposit_submitted' : 'pool_not_empty');
    return { id: pool };
  }

  /** @throws ApiError for what only the database knows: the user was deleted, or the contract takes no pool now */
  private async written<T>(writing: Promise<T>): Promise<T> {
    try {
      return await writing;
    } catch (error) {
      const { constraint } = error as { constraint?: unknown };
      if (constraint === 'pools_owner_id_fkey') throw invalidToken('token_revoked');
      if (constraint === 'pools_one_in_place') throw namedError('pool_exists');
      if (constraint === 'pools_not_quarantined') throw namedError('chain_unknown');
      throw error;
    }
  }

  private async firstAnswer(
    { userId }: AuthenticatedUser,
    { key, requestHash }: { key: string; requestHash: string },
    otherwise: ApiError,
  ): Promise<JsonText<CreatedPool>> {
    const first = await this.database.read(FIRST_ANSWER, { user: userId, key });
    if (!first) throw otherwise;
    if (first.requestHash !== requestHash) throw namedError('idempotency_key_reused');
    if (first.isCancelled) throw namedError('pool_cancelled');
    return new JsonText(first.response);
  }
}
