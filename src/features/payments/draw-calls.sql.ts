import { type DrawStatus, TYPE_WITH_DRAWS } from '#values/types';
import { statement } from '#platform/postgres/statement';
import { HEAD, KNOWN_CHAIN, LAST_BLOCK, contractsOf, isApart, tokenOf } from '#ledger/chain/chain.sql';
import { DUE_TO_MOVE_ON, REFUNDABLE } from '#features/lottery/lottery.sql';
import type { ChainRow } from './calls.sql';

export interface DrawRow extends ChainRow {
  contract: string;
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
    SELECT chain.*, ${tokenOf('c.address')} AS token, c.address AS contract, d.status, d.paid, ${DUE_TO_MOVE_ON} AS due,
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
