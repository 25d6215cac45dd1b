import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Address } from 'viem';
import { bytes16 } from '#values/bytes16';
import { MAX_AMOUNT } from '#values/rules';
import type { DrawStatus } from '#values/types';
import { Database } from '#platform/database/database';
import { ApiError, forbidden, namedError, notFound, validationFailed } from '#platform/errors/errors';
import { knownForm } from '#platform/errors/readable';
import { ApiData, type DocumentedError } from '#platform/openapi/api-docs';
import { NATIVE_COIN, type OwnCall } from '#ledger/adapters/pool-contract';
import { lotteryPoolAbi, savingsPoolAbi } from '#ledger/chain/contract.abi';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import {
  CompoundingCallsQuery,
  ContractCalls,
  DepositCallsQuery,
  type DrawCall,
  DrawCallsQuery,
  TicketCallsQuery,
  WithdrawCallsQuery,
} from './calls.dto';
import { DRAW_OF_CALL, DRAW_TO_CALL, type DrawRow, POOL_TO_PAY, type PoolToPay } from './calls.sql';
import {
  type EncodedCall,
  amountDue,
  approve,
  calls,
  chainIdOf,
  encode,
  ownCall,
  reference,
  tokenOf,
  withdraw,
} from './contract-calls';
import { type Paid, Refusals } from './refusals';

const OF_POOL: DocumentedError[] = [401, 403, 404, 'uses_circle', 'calls_unknown', 'chain_unknown'];
const OF_DRAW: DocumentedError[] = [401, 404, 'calls_unknown', 'chain_unknown'];

/**
 * Calls that a wallet signs and sends. They go to the pool's own contract, which may differ from the contract for new
 * pools. What the contract must refuse is refused here. Where the ledger may lack what the chain has, the chain decides;
 * and only it knows whether the wallet has enough money.
 */
@Controller()
export class CallsController {
  constructor(
    private readonly database: Database,
    private readonly refusals: Refusals,
  ) {}

  @Get('pools/:id/calls/deposit')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pay into a pool',
    description:
      'Returns the approval of exactly this amount, unless it is sent as `value`, then the deposit. With `transaction` the payment confirms that pending deposit of the caller. Returns 409 `deposit_submitted` while its payment is on its way.',
    errors: ['below_minimum', 'transaction_not_pending', 'deposit_submitted', ...OF_POOL, 'contract_refuses'],
  })
  async deposit(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { amount, transaction }: DepositCallsQuery,
  ): Promise<ContractCalls> {
    if (amount === undefined && transaction === undefined)
      throw validationFailed({ field: 'amount', message: 'is required without transaction' });
    if (transaction !== undefined) knownForm(transaction);
    const { pool, contract, own } = await this.find(user, id, 'deposit', transaction);
    const due = transaction === undefined ? BigInt(amount!) : amountDue(pool, user);
    if (amount !== undefined && BigInt(amount) !== due)
      throw validationFailed({ field: 'amount', message: `must be that of the transaction, ${due}` });
    if (due < BigInt(pool.minimum ?? 0)) throw belowMinimum(`must be at least ${pool.minimum}`);
    const token = tokenOf(pool);
    const call =
      own?.(due) ?? encode(savingsPoolAbi, 'deposit', contract, bytes16(id), reference(transaction), due);
    const sent =
      own && token === NATIVE_COIN ? [{ ...call, value: due }] : [approve(token, contract, due), call];
    return this.taken(pool, user, sent, { token, amount: due });
  }

  @Get('pools/:id/calls/withdraw')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that withdraw from a pool',
    description:
      'Returns the withdrawal of up to the balance of the wallet; yield stays claimable. For members, and everyone who ever paid in. Refuses what the contract would refuse, unless the ledger is behind.',
    errors: ['below_minimum', 'insufficient_balance', ...OF_POOL, 'contract_refuses'],
  })
  async withdraw(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { amount }: WithdrawCallsQuery,
  ): Promise<ContractCalls> {
    const wanted = BigInt(amount);
    const { pool, contract, own } = await this.find(user, id, 'withdraw');
    if (pool.isCurrent) refuseWithdrawal(pool, wanted);
    return this.taken(pool, user, [own?.(wanted) ?? withdraw(contract, id, wanted)]);
  }

  @Get('pools/:id/calls/claim')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that claim yield from a pool',
    description:
      'Returns the claim of all yield that the wallet has not claimed yet. For members, and everyone who ever paid in. Refused if there is none, unless the ledger is behind.',
    errors: ['nothing_to_claim', ...OF_POOL, 'contract_refuses'],
  })
  async claim(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    const { pool, contract, own } = await this.find(user, id, 'claim');
    // What is earned at a third-party contract is not known before it is claimed.
    if (pool.isCurrent && pool.claimable === '0' && !own) throw namedError('nothing_to_claim');
    const call =
      own?.(BigInt(pool.claimable)) ??
      encode(savingsPoolAbi, 'claimYield', contract, bytes16(id), reference());
    return this.taken(pool, user, [call]);
  }

  @Get('pools/:id/calls/compounding')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that enable or disable compounding',
    description:
      'Returns the call with which a wallet enables or disables compounding of its own yield in this pool; `compounding` of the position reports the state. For members, and everyone who ever paid in.',
    errors: ['compounding_unchanged', ...OF_POOL],
  })
  async compounding(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { enabled }: CompoundingCallsQuery,
  ): Promise<ContractCalls> {
    const { pool, contract } = await this.find(user, id, 'compounding');
    if (pool.isCurrent && pool.compounding === (enabled === 'true'))
      throw namedError('compounding_unchanged');
    const name = enabled === 'true' ? 'startCompounding' : 'stopCompounding';
    return calls(chainIdOf(pool), encode(savingsPoolAbi, name, contract, bytes16(id)));
  }

  @Get('lottery/calls/tickets')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that buy tickets of the current draw',
    description:
      'Returns the approval of their price, then the purchase. Returns 404 while no draw sells tickets.',
    errors: [400, 401, 'no_open_draw', 'calls_unknown', 'chain_unknown'],
  })
  async tickets(@Query() { count }: TicketCallsQuery): Promise<ContractCalls> {
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
   * @param paid what the wallet needs for the calls
   * @throws ApiError 409 if a contract whose rules only its node knows would refuse them
   */
  private async taken(
    pool: PoolToPay,
    user: AuthenticatedUser,
    encoded: EncodedCall[],
    paid?: Paid,
  ): Promise<ContractCalls> {
    if (pool.own) await this.refusals.refuse(user.address, encoded, pool.own.block, paid);
    return calls(chainIdOf(pool), ...encoded);
  }

  /**
   * The pool, and what builds the call at a contract with calls of its own. Deposits are for its readers, other calls
   * also for everyone with money in it: people who have left, or paid in from outside.
   */
  private async find(
    user: AuthenticatedUser,
    id: string,
    call: OwnCall | 'compounding',
    transaction: string | null = null,
  ): Promise<{ pool: PoolToPay; contract: Address; own: ReturnType<typeof ownCall> }> {
    const pool = await this.database.read(POOL_TO_PAY, {
      pool: knownForm(id),
      caller: user.address,
      transaction,
    });
    if (!pool) throw notFound();
    if (!pool.readable && (call === 'deposit' || !pool.hasPosition)) throw forbidden();
    if (pool.holdsCircles) throw namedError('uses_circle');
    if (pool.own && call === 'compounding') throw namedError('calls_unknown');
    const own = call === 'compounding' ? undefined : ownCall(call, pool, id, user.address);
    return { pool, contract: pool.contract as Address, own };
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

const belowMinimum = (message: string): ApiError =>
  namedError('below_minimum', { details: [{ field: 'amount', message }] });

type DrawRefusal = 'too_early' | 'already_paid' | 'nothing_to_refund';

/** The status that a draw needs for each call, and why the contract would still refuse the call in the next block. */
const DRAW_RULES: Record<DrawCall, [DrawStatus, (draw: DrawRow) => DrawRefusal | false | null]> = {
  claimPrize: ['COMPLETED', ({ paid }) => paid && 'already_paid'],
  refund: ['CANCELLED', ({ refundable }) => refundable === '0' && 'nothing_to_refund'],
  completeDraw: ['DRAWING', ({ due }) => due === null && 'too_early'],
  cancelDraw: ['ACTIVE', ({ due }) => due === null && 'too_early'],
};

/** What can be done to a draw is in `due` of the draw, or of the caller's entry. */
@Controller('lottery/calls')
@ApiTags('Calls')
export class DrawCallsController {
  constructor(private readonly database: Database) {}

  @Get('claim')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pay out a prize',
    description: 'Returns the call that sends the prize to the winner. Any wallet can send it.',
    errors: ['wrong_draw_status', 'already_paid', ...OF_DRAW],
  })
  claim(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.call('claimPrize', user, query);
  }

  @Get('refund')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that refund a cancelled draw',
    description: 'Returns the refund of all that the wallet paid into the draw, for tickets and as gifts.',
    errors: ['wrong_draw_status', 'nothing_to_refund', ...OF_DRAW],
  })
  refund(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.call('refund', user, query);
  }

  @Get('complete')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pick the winner of a closed draw',
    description:
      'Returns the call that picks the winner, from the second block after the close on. Any wallet can send it. Once the block hash is out of reach, the call lets another block pick and is due again.',
    errors: ['wrong_draw_status', 'too_early', ...OF_DRAW],
  })
  complete(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.call('completeDraw', user, query);
  }

  @Get('cancel')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that cancel an abandoned draw',
    description:
      'Returns the call that cancels a draw still open seven days after its time. Any wallet can send it. A closed draw cannot be cancelled.',
    errors: ['wrong_draw_status', 'too_early', ...OF_DRAW],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Query() query: DrawCallsQuery): Promise<ContractCalls> {
    return this.call('cancelDraw', user, query);
  }

  private async call(
    name: DrawCall,
    { address: caller }: AuthenticatedUser,
    { drawId, contract }: DrawCallsQuery,
  ): Promise<ContractCalls> {
    const values = { drawId, contract: contract?.toLowerCase() ?? null, caller };
    const draw = await this.database.read(DRAW_OF_CALL, values);
    if (!draw?.status) throw notFound();
    if (draw.hasOwnCalls) throw namedError('calls_unknown');
    const chainId = chainIdOf(draw);
    // The hash that picks a winner is known for a short time only, so an indexer that is behind must not prevent any call.
    if (draw.isCurrent) {
      const [status, refusalOf] = DRAW_RULES[name];
      if (draw.status !== status) throw namedError('wrong_draw_status');
      const refusal = refusalOf(draw);
      if (refusal) throw namedError(refusal);
    }
    return calls(chainId, encode(lotteryPoolAbi, name, draw.contract as Address, BigInt(drawId)));
  }
}
