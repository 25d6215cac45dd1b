import { Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { bytes16 } from '#values/bytes16';
import { Database } from '#platform/database/database';
import { forbidden, namedError, notFound, validationFailed } from '#platform/errors/errors';
import { knownForm } from '#platform/errors/readable';
import { rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import type { AuthenticatedUser } from '#features/access/current-user';
import type { ContractCalls } from '#extensions/payments/calls.dto';
import { amountDue, approve, calls, chainIdOf, encode, reference } from '#extensions/payments/contract-calls';
import type { OpenCircleQuery } from './circles.dto';
import { CIRCLE_TO_CALL, type CircleAction, type CircleToCall } from './circles.sql';

/** What the contract calls each. */
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

/** Builds the calls that move a savings circle on, and the money of its members. */
@Injectable()
export class CircleCallsService {
  constructor(private readonly database: Database) {}

  /**
   * @throws ApiError 403 for others than the owner; 404 for an unknown pool and a contract without circles; 409 if the pool
   * has one; 400 for terms that the contract would refuse
   */
  async open(caller: AuthenticatedUser, id: string, query: OpenCircleQuery): Promise<ContractCalls> {
    const pool = await this.find(caller, id);
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

  /**
   * A call to the circle of the pool, and before it the approval of what it takes.
   * @param transaction id of the pending deposit that it pays
   * @throws ApiError 404 for an unknown pool and one without a circle; 403 if the caller may not read it, or has to be a
   * member; 409 if the contract would refuse; 503 while the chain is unknown
   */
  async call(
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
      (name === 'join' ? circle.collateral : name === 'contribute' && circle.contribution) || 0,
    );
    if (transaction !== undefined && amountDue(circle, caller) !== due)
      throw validationFailed({ field: 'transaction', message: `must be of ${due}, which the call pays` });
    const [contract, circleId] = [circle.contract as Address, BigInt(circle.circleId)];
    // Calls that move money may name the pending deposit that they pay.
    const call =
      name === 'endRound' || name === 'cancel'
        ? encode(rotatingPoolAbi, FUNCTIONS[name], contract, circleId)
        : encode(rotatingPoolAbi, FUNCTIONS[name], contract, circleId, reference(transaction));
    if (due === 0n) return calls(chainId, call);
    if (circle.token === null) throw namedError('chain_unknown');
    return calls(chainId, approve(circle.token as Address, contract, due), call);
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
