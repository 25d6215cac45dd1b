import type { TransactionStatus } from '#values/types';
import { statement } from '#platform/postgres/statement';
import { KNOWN_CHAIN, LAST_BLOCK_TIME } from '#ledger/chain/chain.sql';
import { OPEN_DRAW } from '#features/lottery/lottery.sql';
import { isReader } from '#features/pools/pools.sql';
import { hasPosition } from '#features/positions/positions.sql';

/** Both are null until an indexer has read them from the chain. */
export interface ChainRow {
  chainId: string | null;
  token: string | null;
}

export interface PoolRow extends ChainRow {
  readable: boolean;
  hasPosition: boolean;
  contract: string;
  /** Account of the requested deposit; null if this pool has no such deposit. */
  account: string | null;
  status: TransactionStatus | null;
  amount: string | null;
}

/** No row: the pool does not exist. */
export const POOL_TO_CALL = statement<{ pool: string; caller: string; transaction: string | null }, PoolRow>(
  'pool_to_call',
  { pool: 'uuid', caller: 'text', transaction: 'uuid' },
  `
    SELECT ${isReader('p.id', ':caller')} AS readable, ${hasPosition('p.id', ':caller')} AS "hasPosition",
      p.contract_address AS contract, chain.*, t.account, t.status, t.amount
    FROM pools p LEFT JOIN ${KNOWN_CHAIN} chain ON true
    LEFT JOIN transactions t ON t.id = :transaction AND t.pool_id = p.id AND t.type = 'DEPOSIT'
    WHERE p.id = :pool`,
  { chargedTo: 'caller' },
);

export interface DrawRow extends ChainRow {
  /** Null while no draw sells tickets. */
  contract: string | null;
  drawId: string | null;
  ticketPrice: string | null;
}

/**
 * The draw that GET /lottery/current shows, if it still sells tickets. Sales end with the first block at or after the
 * draw time, whatever the clock says. Always one row.
 */
export const DRAW_TO_CALL = statement<object, DrawRow>(
  'draw_to_call',
  {},
  `
    SELECT chain.*, d.contract, d.draw_id AS "drawId", d.ticket_price AS "ticketPrice"
    FROM (SELECT) one LEFT JOIN ${KNOWN_CHAIN} chain ON true
    LEFT JOIN ${OPEN_DRAW} d ON d.status = 'ACTIVE' AND d.draw_time > ${LAST_BLOCK_TIME}`,
);
