import {
  type Decision,
  type EventOutcome,
  type Item,
  type PoolState,
  type Rules,
  decide,
} from '#indexer/ledger/decide';
import type { ChainEvent } from '#indexer/reading/decode';
import type { Kind } from '#ledger/adapters/happening';
import type { Row } from './ordered-rows';

/** An event with what is stored of its outcome. */
export interface StoredItem extends Item {
  before: EventOutcome;
  reason: string | null;
  transactionId: string | null;
}

const number = (text: string | null): number | null => (text === null ? null : Number(text));

/** A row of EVENTS. No rule depends on the hashes of its block and transaction, so they are not read. */
export function storedItem(row: (string | null)[]): StoredItem {
  const event: ChainEvent = {
    poolId: row[0],
    // No rule depends on these two.
    poolName: null,
    fee: null,
    blockNumber: Number(row[1]),
    logIndex: Number(row[2]),
    time: Number(row[3]),
    contract: row[4]!,
    kind: row[5] as Kind,
    ref: row[6],
    drawId: row[7],
    account: row[8],
    amount: row[9],
    aprBps: number(row[10]),
    drawTime: number(row[11]),
    seq: Number(row[15]),
    circleId: row[16],
    collateral: row[17],
    period: number(row[18]),
    place: number(row[19]),
    blockHash: '',
    txHash: '',
  };
  return { event, before: row[12] as EventOutcome, reason: row[13], transactionId: row[14] };
}

export interface Replayed extends Decision {
  isChanged: boolean;
}

/** The id of a transaction is made without dashes, and stored with them. */
const compact = (id: string | null | undefined): string | undefined => id?.replaceAll('-', '');

/**
 * Decides an event again, after those before it.
 * @param tryFailed whether what the database once refused is decided too; otherwise it stays as it is
 */
export function decideAgain(
  item: StoredItem,
  pools: Map<string, PoolState>,
  rules: Rules,
  tryFailed: boolean,
): Replayed {
  if (item.before === 'FAILED' && !tryFailed)
    return { event: item.event, before: item.before, outcome: 'FAILED', isChanged: false };
  const [decision] = decide([{ event: item.event, before: item.before }], pools, rules);
  const isChanged =
    decision.outcome !== item.before ||
    (decision.reason ?? null) !== item.reason ||
    compact(decision.transactionId) !== compact(item.transactionId);
  return { ...decision, isChanged };
}

/** Adds a row of POOLS to the pool's state, as it was before its first event. */
export function addToPool(
  pools: Map<string, PoolState>,
  [id, contract, deposit, account, requested, owner]: Row,
): void {
  let pool = pools.get(id);
  if (!pool) {
    // The id of its owner decides nothing.
    pool = { contract: contract!, ownerId: '', owner: owner!, circle: null, balance: 0n, announced: [] };
    pools.set(id, pool);
  }
  if (deposit !== null) pool.announced.push({ id: deposit, account: account!, requested: requested! });
}
