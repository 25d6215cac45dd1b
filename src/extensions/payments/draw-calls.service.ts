import { Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { type DrawStatus, TYPE_WITH_DRAWS } from '#values/types';
import { Database } from '#platform/database/database';
import { namedError, notFound } from '#platform/errors/errors';
import { statement } from '#platform/postgres/statement';
import {
  HEAD,
  KNOWN_CHAIN,
  LAST_BLOCK,
  contractsOf,
  hasOwnCalls,
  isApart,
  tokenOf,
} from '#ledger/chain/chain.sql';
import type { AuthenticatedUser } from '#features/access/current-user';
import { DUE_TO_MOVE_ON, REFUNDABLE } from '#features/lottery/lottery.sql';
import type { ContractCalls } from './calls.dto';
import type { ChainRow } from './calls.sql';
import { type DrawCall, ofDraw } from './contract-calls';
import type { DrawCallsQuery } from './draw-calls.dto';
import { calls, chainIdOf } from './on-chain';

interface DrawRow extends ChainRow {
  contract: string;
  /** Adapters name no calls for draws: only the reference contracts have any. */
  hasOwnCalls: boolean;
  /** Null, as what follows, if the contract has no such draw. */
  status: DrawStatus | null;
  paid: boolean | null;
  refundable: string;
  due: 'complete' | 'cancel' | null;
  /** Whether the ledger is at the head, and has the contract's events up to there. */
  isCurrent: boolean;
}

/**
 * A draw of a lottery contract, by default of the newest, and what the caller has in it. No row: no such contract is
 * followed.
 */
export const DRAW_OF_CALL = statement<{ drawId: number; contract: string | null; caller: string }, DrawRow>(
  'draw_of_call',
  { drawId: 'bigint', contract: 'text', caller: 'text' },
  `
    SELECT chain.*, ${tokenOf('c.address')} AS token, c.address AS contract,
      ${hasOwnCalls('c.address')} AS "hasOwnCalls", d.status, d.paid, ${DUE_TO_MOVE_ON} AS due,
      (${REFUNDABLE})::text AS refundable,
      coalesce(head."isAtHead", false) AND NOT ${isApart('c.address')} AS "isCurrent"
    FROM (SELECT * FROM ${contractsOf(TYPE_WITH_DRAWS)} all_of WHERE address = coalesce(:contract, address)
      ORDER BY position DESC LIMIT 1) c
    LEFT JOIN ${KNOWN_CHAIN} chain ON true LEFT JOIN ${LAST_BLOCK} last ON true
    LEFT JOIN ${HEAD} head ON true
    LEFT JOIN lottery_draws d ON d.contract = c.address AND d.draw_id = :drawId
    LEFT JOIN lottery_tickets t ON t.contract = d.contract AND t.draw_id = d.draw_id AND t.account = :caller`,
  { chargedTo: 'caller' },
);

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
    if (draw.hasOwnCalls) throw namedError('calls_unknown');
    const chainId = chainIdOf(draw);
    const refusal = draw.isCurrent ? REFUSALS[name](draw) : undefined;
    if (refusal) throw namedError(refusal);
    return calls(chainId, ofDraw(name, draw.contract as Address, BigInt(drawId)));
  }
}
