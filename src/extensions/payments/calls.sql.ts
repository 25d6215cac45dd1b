import type { Address } from 'viem';
import { type DrawStatus, type TransactionStatus, TYPE_WITH_DRAWS } from '#values/types';
import { statement } from '#platform/postgres/statement';
import {
  HEAD,
  KNOWN_CHAIN,
  LAST_BLOCK,
  LAST_BLOCK_TIME,
  contractsOf,
  hasOwnCalls,
  holdsCircles,
  isApart,
  isCompounding,
  shareYieldOf,
  tokenOf,
} from '#ledger/chain/chain.sql';
import type { OwnCalls, PoolsBy } from '#ledger/adapters/pool-contract';
import { DUE_TO_MOVE_ON, OPEN_DRAW, REFUNDABLE } from '#features/lottery/lottery.sql';
import { isReader } from '#features/pools/pools.sql';
import { isPaying, submitted } from '#features/pools/unpaid.sql';
import { ACCRUED, CLAIMABLE } from '#extensions/positions/positions.sql';

/** A contract that is not one of the reference contracts, and a pool there. */
export interface OwnContract {
  calls: OwnCalls;
  poolsBy: PoolsBy;
  /** Of the pool. */
  owner: Address;
  /** Of the pool, once the contract has emitted it; for contracts that number their pools. */
  number: string | null;
  /** Whether its payments are this pool's: it is the one that the contract is, or the account's there. */
  isInPlace: boolean;
  /** The last one that the ledger has read. */
  block: number;
}

/** Both are null until an indexer has read them from the chain. The token is the contract's. */
export interface ChainRow {
  chainId: string | null;
  token: string | null;
}

export interface PoolToCall extends ChainRow {
  readable: boolean;
  contract: string;
  /** Of the contract: the smallest deposit, and withdrawal that leaves something. Null until an indexer has read it. */
  minimum: string | null;
  /** Whether the contract holds circles, so that money moves by their calls alone. */
  holdsCircles: boolean;
}

export interface DepositRow {
  /** Null if the pool has no such deposit. */
  account: string | null;
  status: TransactionStatus | null;
  amount: string | null;
  isSubmitted: boolean;
}

export interface PoolToPay extends PoolToCall, DepositRow {
  /** Of a contract with calls of its own; null: its calls are those of the reference contracts. */
  own: OwnContract | null;
  hasPosition: boolean;
  balance: string;
  claimable: string;
  compounding: boolean;
  /** Whether the ledger is at the head, also for this contract, and no payment of the caller's is on its way. */
  isCurrent: boolean;
}

/** SQL: whether the ledger is at the head, and has the contract's events up to there. */
const isCurrent = (contract: string): string =>
  `coalesce(head."isAtHead", false) AND NOT ${isApart(contract)}`;
export const IS_CURRENT = isCurrent('p.contract_address');

/** SQL: a PoolToCall of pool `p`, and a DepositRow. */
export const poolToCall = (readable: string): string => `
  ${readable} AS readable, p.contract_address AS contract, chain.*, ${tokenOf('p.contract_address')} AS token,
  (SELECT k.minimum::text FROM chain_contracts k WHERE k.type = p.type AND k.address = p.contract_address) AS minimum,
  ${holdsCircles('p')} AS "holdsCircles",
  t.account, t.status, t.amount::text, coalesce(${submitted('t')} IS NOT NULL, false) AS "isSubmitted"`;
export const CALL_JOINS = `
  LEFT JOIN ${KNOWN_CHAIN} chain ON true LEFT JOIN ${HEAD} head ON true
  LEFT JOIN transactions t ON t.id = :transaction AND t.pool_id = p.id AND t.type = 'DEPOSIT'`;

/** What calls of a pool need: its contract, the deposit to be paid, what the caller has in it. No row: there is no pool. */
export const POOL_TO_PAY = statement<{ pool: string; caller: string; transaction: string | null }, PoolToPay>(
  'pool_to_pay',
  { pool: 'uuid', caller: 'text', transaction: 'uuid' },
  `
    SELECT ${poolToCall(isReader('p.id', ':caller'))},
      (SELECT json_build_object('calls', coalesce(k.calls, '{}'), 'poolsBy', k.pools_by,
        'owner', (SELECT u.address FROM users u WHERE u.id = p.owner_id),
        'number', (SELECT n.name FROM pool_names n WHERE n.pool_id = p.id),
        'isInPlace', CASE k.pools_by WHEN 'contract' THEN coalesce(k.pool_id = p.id, false) WHEN 'account' THEN coalesce(
          (SELECT n.pool_id = p.id FROM pool_names n
            WHERE n.stand_in = pool_stand_in(k.address, (SELECT u.address::text FROM users u WHERE u.id = p.owner_id))),
          NOT EXISTS (SELECT FROM pools o
            WHERE o.owner_id = p.owner_id AND o.contract_address = p.contract_address AND o.id < p.id))
          ELSE true END,
        'block', (SELECT c.block_number FROM chain_cursor c))
      FROM chain_contracts k WHERE k.address = p.contract_address AND (k.calls IS NOT NULL OR k.pools_by <> 'reference')
      -- A contract that is followed for other pools only is no reference contract for these.
      ORDER BY k.type = p.type::text DESC LIMIT 1) AS own,
      o.pool_id IS NOT NULL AS "hasPosition", coalesce(o.balance, 0)::text AS balance,
      coalesce(${CLAIMABLE}, 0)::text AS claimable, ${isCompounding('p.id', ':caller')} AS compounding,
      ${IS_CURRENT} AND NOT ${isPaying('p.id', ':caller')} AS "isCurrent"
    FROM pools p ${CALL_JOINS}
    LEFT JOIN positions o ON o.pool_id = p.id AND o.address = :caller
    ${ACCRUED} ${shareYieldOf('p.id', ':caller')}
    WHERE p.id = :pool`,
  { chargedTo: 'caller' },
);

interface DrawForSale extends ChainRow {
  /** Null while no draw sells tickets. */
  contract: string | null;
  hasOwnCalls: boolean | null;
  drawId: string | null;
  ticketPrice: string | null;
}

/**
 * The draw that GET /lottery/current shows, if it still sells tickets. Sales end with the first block at or after the
 * draw time, whatever the clock says. Always one row.
 */
export const DRAW_TO_CALL = statement<object, DrawForSale>(
  'draw_to_call',
  {},
  `
    SELECT chain.*, ${tokenOf('d.contract')} AS token, d.contract, d.draw_id AS "drawId", d.ticket_price AS "ticketPrice",
      ${hasOwnCalls('d.contract')} AS "hasOwnCalls"
    FROM (SELECT) one LEFT JOIN ${KNOWN_CHAIN} chain ON true
    LEFT JOIN ${OPEN_DRAW} d ON d.status = 'ACTIVE' AND d.draw_time > ${LAST_BLOCK_TIME}`,
);

export interface DrawRow extends ChainRow {
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
      ${isCurrent('c.address')} AS "isCurrent"
    FROM (SELECT * FROM ${contractsOf(TYPE_WITH_DRAWS)} all_of WHERE address = coalesce(:contract, address)
      ORDER BY position DESC LIMIT 1) c
    LEFT JOIN ${KNOWN_CHAIN} chain ON true LEFT JOIN ${LAST_BLOCK} last ON true
    LEFT JOIN ${HEAD} head ON true
    LEFT JOIN lottery_draws d ON d.contract = c.address AND d.draw_id = :drawId
    LEFT JOIN lottery_tickets t ON t.contract = d.contract AND t.draw_id = d.draw_id AND t.account = :caller`,
  { chargedTo: 'caller' },
);
