import { Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { Database } from '#platform/database/database';
import { namedError, notFound } from '#platform/errors/errors';
import type { AuthenticatedUser } from '#features/access/current-user';
import type { ContractCalls } from './calls.dto';
import { type DrawCall, ofDraw } from './contract-calls';
import type { DrawCallsQuery } from './draw-calls.dto';
import { DRAW_OF_CALL, type DrawRow } from './draw-calls.sql';
import { calls, chainIdOf } from './on-chain';

type Refusal = 'wrong_draw_status' | 'too_early' | 'already_paid' | 'nothing_to_refund';

/**
 * Why the contract would refuse the call in the block after the last one that was read. Asked only while the ledger is at
 * the head: the hash that picks a winner is known for so long only, and an indexer that is behind must not keep anybody
 * from it.
 */
const REFUSALS: Record<DrawCall, (draw: DrawRow) => Refusal | undefined> = {
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

/** Builds the calls that pay out what is in a draw, and those that move a draw on. */
@Injectable()
export class DrawCallsService {
  constructor(private readonly database: Database) {}

  /** @throws ApiError 404 if there is no such draw, 409 if the contract would refuse, 503 while the chain is unknown */
  async call(
    name: DrawCall,
    caller: AuthenticatedUser,
    { drawId, contract }: DrawCallsQuery,
  ): Promise<ContractCalls> {
    const values = { drawId, contract: contract?.toLowerCase() ?? null, caller: caller.address };
    const draw = await this.database.read(DRAW_OF_CALL, values);
    if (!draw?.status) throw notFound();
    const chainId = chainIdOf(draw);
    const refusal = draw.isCurrent ? REFUSALS[name](draw) : undefined;
    if (refusal) throw namedError(refusal);
    return calls(chainId, ofDraw(name, draw.contract as Address, BigInt(drawId)));
  }
}
