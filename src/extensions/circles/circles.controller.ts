import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Address } from 'viem';
import { bytes16 } from '#values/bytes16';
import { JsonText } from '#platform/answers/json-text';
import { Database } from '#platform/database/database';
import { forbidden, namedError, notFound, validationFailed } from '#platform/errors/errors';
import { knownForm, readable } from '#platform/errors/readable';
import { ApiData, type DocumentedError } from '#platform/openapi/api-docs';
import { rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { ContractCalls } from '#extensions/payments/calls.dto';
import {
  amountDue,
  approve,
  calls,
  chainIdOf,
  encode,
  reference,
  tokenOf,
} from '#extensions/payments/contract-calls';
import { CirclePaymentQuery, OpenCircleQuery, PoolRounds } from './circles.dto';
import { CIRCLE_TO_CALL, type CircleAction, type CircleToCall, POOL_ROUNDS } from './circles.sql';

@Controller('pools')
@ApiTags('Circles')
export class CirclesController {
  constructor(private readonly database: Database) {}

  @Get(':id/rounds')
  @ApiData(PoolRounds, {
    summary: 'Get the savings circle of a pool',
    description:
      "Returns terms, members and rounds of the circle, the caller's place in it, and the calls that the caller can send now. For everyone who can read the pool, and the members of the circle.",
    errors: [401, 403, 404, 'no_circle'],
  })
  async rounds(
    @CurrentUser() { address: caller }: AuthenticatedUser,
    @Param('id') id: string,
  ): Promise<JsonText<PoolRounds>> {
    const row = await this.database.read(POOL_ROUNDS, { pool: knownForm(id), caller });
    if (!row) throw notFound();
    const { data } = readable(row);
    if (!row.hasCircles) throw namedError('no_circle');
    return new JsonText(data);
  }
}

const ERRORS: DocumentedError[] = [401, 403, 404, 'no_circle', 'chain_unknown'];
const ERRORS_OF_PAYMENT: DocumentedError[] = [
  ...ERRORS,
  'wrong_circle_state',
  'already_done',
  'too_late',
  'transaction_not_pending',
  'deposit_submitted',
  'calls_unknown',
];

const FUNCTIONS = {
  join: 'join',
  contribute: 'contribute',
  payout: 'claimPayout',
  refund: 'claimRefund',
  endRound: 'endRound',
  cancel: 'cancelCircle',
} as const satisfies Record<CircleAction, string>;

const MAX_CIRCLE_AMOUNT = 2n ** 128n - 1n;
/** Seconds. */
const LONGEST_JOINING = 366 * 86_400;

/** What can be done to a circle is in `can` of GET /pools/{id}/rounds. */
@Controller('pools/:id/calls')
@ApiTags('Circles')
export class CircleCallsController {
  constructor(private readonly database: Database) {}

  @Get('open')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that open the circle of a pool',
    description:
      'Returns the call that opens the circle of a rotating pool, with terms that never change. For its owner: only the first circle that the owner opens belongs to the pool.',
    errors: [...ERRORS, 'below_minimum', 'circle_exists'],
  })
  async open(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() query: OpenCircleQuery,
  ): Promise<ContractCalls> {
    const pool = await this.find(user, id);
    if (!pool.isOwner) throw forbidden();
    if (pool.circleId !== null) throw namedError('circle_exists');
    const members = query.members.toLowerCase().split(',') as Address[];
    if (new Set(members).size < members.length || members.some((each) => /^0x0+$/.test(each)))
      throw validationFailed({ field: 'members', message: 'must be different, and not zero' });
    const joinBy = Math.floor(Date.parse(query.joinBy) / 1000);
    const now = pool.now || Date.now() / 1000;
    if (!(joinBy > now && joinBy <= now + LONGEST_JOINING))
      throw validationFailed({ field: 'joinBy', message: 'must be in the future, at most a year' });
    const [contribution, collateral] = (['contribution', 'collateral'] as const).map((field) => {
      const amount = BigInt(query[field] ?? 0);
      if (amount > MAX_CIRCLE_AMOUNT) throw validationFailed({ field, message: 'must be at most 2^128-1' });
      return amount;
    });
    if (contribution < BigInt(pool.minimum ?? 0))
      throw namedError('below_minimum', {
        details: [{ field: 'contribution', message: `must be at least ${pool.minimum}` }],
      });
    const terms = [contribution, collateral, query.period, BigInt(joinBy), members] as const;
    const call = encode(rotatingPoolAbi, 'openCircle', pool.contract as Address, bytes16(id), ...terms);
    return calls(chainIdOf(pool), call);
  }

  @Get('join')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that join a circle',
    description:
      'Returns the approval of the collateral, if any, then the call to join. For the named members. The first round starts when all have joined.',
    errors: ERRORS_OF_PAYMENT,
  })
  join(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { transaction }: CirclePaymentQuery,
  ): Promise<ContractCalls> {
    return this.call('join', user, id, transaction);
  }

  @Get('contribute')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pay for the current round',
    description:
      'Returns the approval of the contribution, then the payment, once in a round. The collateral pays for members who do not.',
    errors: ERRORS_OF_PAYMENT,
  })
  contribute(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() { transaction }: CirclePaymentQuery,
  ): Promise<ContractCalls> {
    return this.call('contribute', user, id, transaction);
  }

  @Get('payout')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that pay out a pot',
    description: 'Returns the call that pays out all pots due to the wallet.',
    errors: [...ERRORS, 'nothing_in_circle'],
  })
  payout(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.call('payout', user, id);
  }

  @Get('refund')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that refund a circle',
    description:
      'Returns the call that refunds, once the circle is over, the remaining collateral and, of a cancelled circle, the payment for the last round.',
    errors: [...ERRORS, 'wrong_circle_state', 'nothing_in_circle'],
  })
  refund(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.call('refund', user, id);
  }

  @Get('endRound')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that end the round of a circle',
    description:
      'Returns the call that ends the round, once all have paid or its time is over. Any wallet can send it. If a collateral does not cover a missing payment, the circle ends.',
    errors: [...ERRORS, 'wrong_circle_state', 'too_early'],
  })
  endRound(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.call('endRound', user, id);
  }

  @Get('cancel')
  @ApiData(ContractCalls, {
    summary: 'Get the calls that cancel a waiting circle',
    description:
      'Returns the call that cancels a circle before all have joined: for the organiser at any time, for any wallet once the time for joining is over.',
    errors: [...ERRORS, 'wrong_circle_state', 'too_early'],
  })
  cancel(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<ContractCalls> {
    return this.call('cancel', user, id);
  }

  /**
   * A call to the circle of the pool, and before it the approval of what it takes.
   * @param transaction id of the pending deposit that it pays
   */
  private async call(
    name: CircleAction,
    caller: AuthenticatedUser,
    id: string,
    transaction?: string,
  ): Promise<ContractCalls> {
    if (transaction !== undefined) knownForm(transaction);
    const circle = await this.find(caller, id, transaction);
    if (circle.circleId === null) throw namedError('no_circle');
    const chainId = chainIdOf(circle);
    // Behind the head the chain decides.
    const refusal = circle.isCurrent && circle.refusals[name];
    if (refusal) throw namedError(refusal);
    const due = BigInt(
      name === 'join' ? circle.collateral! : name === 'contribute' ? circle.contribution! : 0,
    );
    if (transaction !== undefined && amountDue(circle, caller) !== due)
      throw validationFailed({ field: 'transaction', message: `must be of ${due}, which the call pays` });
    const [contract, circleId] = [circle.contract as Address, BigInt(circle.circleId)];
    // Calls that move money may name the pending deposit that they pay.
    const call =
      name === 'endRound' || name === 'cancel'
        ? encode(rotatingPoolAbi, FUNCTIONS[name], contract, circleId)
        : encode(rotatingPoolAbi, FUNCTIONS[name], contract, circleId, reference(transaction));
    return due === 0n ? calls(chainId, call) : calls(chainId, approve(tokenOf(circle), contract, due), call);
  }

  private async find(caller: AuthenticatedUser, id: string, transaction?: string): Promise<CircleToCall> {
    const values = { pool: knownForm(id), caller: caller.address, transaction: transaction ?? null };
    const pool = await this.database.read(CIRCLE_TO_CALL, values);
    if (!pool) throw notFound();
    if (!pool.readable) throw forbidden();
    if (!pool.holdsCircles) throw namedError('no_circle');
    return pool;
  }
}
