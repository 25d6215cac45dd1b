import { Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { bytes16 } from '#values/bytes16';
import { MAX_AMOUNT } from '#values/rules';
import { Database } from '#platform/database/database';
import { ApiError, forbidden, namedError, notFound, validationFailed } from '#platform/errors/errors';
import { knownForm } from '#platform/errors/readable';
import { NATIVE_COIN, type OwnCall } from '#ledger/adapters/pool-contract';
import { lotteryPoolAbi, savingsPoolAbi } from '#ledger/chain/contract.abi';
import type { AuthenticatedUser } from '#features/access/current-user';
import type { ContractCalls, DepositCallsQuery, DrawCall, DrawCallsQuery } from './calls.dto';
import {
  type ChainRow,
  DRAW_OF_CALL,
  DRAW_TO_CALL,
  type DrawRow,
  POOL_TO_PAY,
  type PoolToPay,
} from './calls.sql';
import {
  type EncodedCall,
  amountDue,
  approve,
  calls,
  chainIdOf,
  encode,
  reference,
  withdraw,
} from './contract-calls';
import { ownCall } from './own-calls';
import { type Paid, Refusals } from './refusals';

/**
 * Builds the calls that a wallet has to sign and send. They go to the pool's own contract, which may differ from the
 * contract for new pools. What the contract must refuse is refused here. Where the ledger may lack what the chain has,
 * the chain decides; and only it knows whether the wallet has enough money.
 */
@Injectable()
export class CallsService {
  constructor(
    private readonly database: Database,
    private readonly refusals: Refusals,
  ) {}

  /**
   * @throws ApiError 400 without amount and transaction, if they contradict each other, or below the contract's
   * minimum; 403 and 404 for pools and for transactions of other users or pools; 409 if the transaction is not pending,
   * or its payment was sent, or the contract holds circles or has calls of its own; 503 while the chain is unknown
   */
  async deposit(
    caller: AuthenticatedUser,
    poolId: string,
    { amount, transaction }: DepositCallsQuery,
  ): Promise<ContractCalls> {
    if (amount === undefined && transaction === undefined)
      throw validationFailed({ field: 'amount', message: 'is required without transaction' });
    if (transaction !== undefined) knownForm(transaction);
    const { pool, own } = await this.find(caller, poolId, 'deposit', transaction);
    const due = transaction === undefined ? BigInt(amount!) : amountDue(pool, caller);
    if (amount !== undefined && BigInt(amount) !== due)
      throw validationFailed({ field: 'amount', message: `must be that of the transaction, ${due}` });
    if (due < BigInt(pool.minimum ?? 0)) throw belowMinimum(`must be at least ${pool.minimum}`);
    const [contract, token] = [pool.contract as Address, tokenOf(pool)];
    const paid = { token, amount: due };
    if (own && token === NATIVE_COIN) return this.taken(pool, caller, [{ ...own(due), value: due }], paid);
    const approval = approve(token, contract, due);
    if (!own) {
      const args = [bytes16(poolId), reference(transaction), due] as const;
      return calls(chainIdOf(pool), approval, encode(savingsPoolAbi, 'deposit', contract, ...args));
    }
    return this.taken(pool, caller, [approval, own(due)], paid);
  }

  /**
   * @throws ApiError 400 for a part of it below the contract's minimum; 403 if the caller may not read the pool and has
   * no position in it; 404 and 503 as for deposits; 409 for more than the caller has there
   */
  async withdraw(caller: AuthenticatedUser, poolId: string, amount: string): Promise<ContractCalls> {
    const wanted = BigInt(amount);
    const { pool, own } = await this.find(caller, poolId, 'withdraw');
    if (pool.isCurrent) refuseWithdrawal(pool, wanted);
    if (own) return this.taken(pool, caller, [own(wanted)]);
    return calls(chainIdOf(pool), withdraw(pool.contract as Address, poolId, wanted));
  }

  /** @throws ApiError 409 when there is nothing to claim; 403, 404 and 503 as for withdrawals */
  async claim(caller: AuthenticatedUser, poolId: string): Promise<ContractCalls> {
    const { pool, own } = await this.find(caller, poolId, 'claim');
    // What is earned at a contract of others is not known before it is claimed.
    if (pool.isCurrent && pool.claimable === '0' && !own) throw namedError('nothing_to_claim');
    if (own) return this.taken(pool, caller, [own(BigInt(pool.claimable))]);
    const contract = pool.contract as Address;
    return calls(
      chainIdOf(pool),
      encode(savingsPoolAbi, 'claimYield', contract, bytes16(poolId), reference()),
    );
  }

  /** @throws ApiError 409 when it is so already; 403, 404 and 503 as for withdrawals */
  async compounding(caller: AuthenticatedUser, poolId: string, enabled: boolean): Promise<ContractCalls> {
    const { pool } = await this.find(caller, poolId, 'compounding');
    if (pool.isCurrent && pool.compounding === enabled) throw namedError('compounding_unchanged');
    const name = enabled ? 'startCompounding' : 'stopCompounding';
    return calls(chainIdOf(pool), encode(savingsPoolAbi, name, pool.contract as Address, bytes16(poolId)));
  }

  /**
   * Buys tickets of the current draw.
   * @throws ApiError 400 if they cost more than an amount can hold, 404 while none are sold, 409 if the contract has other
   * calls, 503 while the chain is unknown
   */
  async tickets(count: string): Promise<ContractCalls> {
    const draw = (await this.database.read(DRAW_TO_CALL, {}))!;
    const chainId = chainIdOf(draw);
    if (draw.drawId === null) throw new ApiError(404, 'No draw is open', { code: 'no_open_draw' });
    if (draw.hasOwnCalls) throw namedError('calls_unknown');
    const token = tokenOf(draw);
    const [tickets, contract] = [BigInt(count), draw.contract as Address];
    const cost = tickets * BigInt(draw.ticketPrice!);
    if (cost > MAX_AMOUNT) throw validationFailed({ field: 'count', message: 'costs more than 2^256-1' });
    const purchase = encode(lotteryPoolAbi, 'buyTickets', contract, BigInt(draw.drawId), tickets);
    return calls(chainId, approve(token, contract, cost), purchase);
  }

  /**
   * A call that pays out what is in a draw, or moves it on.
   * @throws ApiError 404 if there is no such draw, 409 if the contract would refuse, 503 while the chain is unknown
   */
  async ofDraw(
    name: DrawCall,
    caller: AuthenticatedUser,
    { drawId, contract }: DrawCallsQuery,
  ): Promise<ContractCalls> {
    const values = { drawId, contract: contract?.toLowerCase() ?? null, caller: caller.address };
    const draw = await this.database.read(DRAW_OF_CALL, values);
    if (!draw?.status) throw notFound();
    if (draw.hasOwnCalls) throw namedError('calls_unknown');
    const chainId = chainIdOf(draw);
    const refusal = draw.isCurrent ? DRAW_REFUSALS[name](draw) : undefined;
    if (refusal) throw namedError(refusal);
    return calls(chainId, encode(lotteryPoolAbi, name, draw.contract as Address, BigInt(drawId)));
  }

  /**
   * Calls of a contract whose rules only its node knows.
   * @throws ApiError 409 if the contract would refuse them
   */
  private async taken(
    pool: PoolToPay,
    caller: AuthenticatedUser,
    encoded: EncodedCall[],
    paid?: Paid,
  ): Promise<ContractCalls> {
    await this.refusals.refuse(caller.address, encoded, pool.own!.block, paid);
    return calls(chainIdOf(pool), ...encoded);
  }

  /**
   * The pool, and what builds the call at a contract with calls of its own. Deposits are for its readers, other calls
   * also for everyone with money in it: people who have left, or paid in from outside.
   */
  private async find(
    caller: AuthenticatedUser,
    id: string,
    call: OwnCall | 'compounding',
    transaction?: string,
  ): Promise<{ pool: PoolToPay; own: ReturnType<typeof ownCall> }> {
    const values = { pool: knownForm(id), caller: caller.address, transaction: transaction ?? null };
    const pool = await this.database.read(POOL_TO_PAY, values);
    if (!pool) throw notFound();
    if (!pool.readable && (call === 'deposit' || !pool.hasPosition)) throw forbidden();
    if (pool.holdsCircles) throw namedError('uses_circle');
    if (pool.own && call === 'compounding') throw namedError('calls_unknown');
    return { pool, own: call === 'compounding' ? undefined : ownCall(call, pool, id, caller.address) };
  }
}

/** @throws ApiError 409 or 400 for what the contract would refuse, if the pool is as the ledger has it */
function refuseWithdrawal(pool: PoolToPay, wanted: bigint): void {
  const minimum = BigInt(pool.minimum ?? 0);
  // A contract with no call for the yield alone pays it out with what earned it; a vault at the price of the last look.
  const withYield = pool.own !== null && pool.own.calls.claim === undefined;
  const balance = BigInt(pool.balance) + (withYield ? BigInt(pool.claimable) : 0n);
  if (wanted > balance)
    throw namedError('insufficient_balance', {
      details: [{ field: 'amount', message: `must be at most ${balance}` }],
    });
  if (wanted < balance && wanted < minimum)
    throw belowMinimum(`must be at least ${minimum}, or all: ${balance}`);
}

type DrawRefusal = 'wrong_draw_status' | 'too_early' | 'already_paid' | 'nothing_to_refund';

/**
 * Why the contract would refuse the call in the block after the last one that was read. Asked only while the ledger is at
 * the head: the hash that picks a winner is known for so long only, and an indexer that is behind must not keep anybody
 * from it.
 */
const DRAW_REFUSALS: Record<DrawCall, (draw: DrawRow) => DrawRefusal | undefined> = {
  claimPrize: ({ status, paid }) => {
    if (status !== 'COMPLETED') return 'wrong_draw_status';
    return paid ? 'already_paid' : undefined;
  },
  refund: ({ status, refundable }) => {
    if (status !== 'CANCELLED') return 'wrong_draw_status';
    return refundable === '0' ? 'nothing_to_refund' : undefined;
  },
  completeDraw: ({ status, due }) => {
    if (status !== 'DRAWING') return 'wrong_draw_status';
    return due === null ? 'too_early' : undefined;
  },
  cancelDraw: ({ status, due }) => {
    if (status !== 'ACTIVE') return 'wrong_draw_status';
    return due === 'cancel' ? undefined : 'too_early';
  },
};

function tokenOf({ token }: ChainRow): Address {
  if (token === null) throw namedError('chain_unknown');
  return token as Address;
}

const belowMinimum = (message: string): ApiError =>
  namedError('below_minimum', { details: [{ field: 'amount', message }] });
