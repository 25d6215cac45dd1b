import type { Client } from 'pg';
import { TYPE_WITH_DRAWS } from '#values/types';
import {
  type Decision,
  type EventOutcome,
  type Item,
  type Outcome,
  type PoolState,
  type Rules,
  outcomeOf,
} from '#indexer/ledger/decide';
import type { ChainEvent } from '#indexer/reading/decode';
import type { Kind } from '#ledger/adapters/happening';
import { LOTTERIES, NO_POOL } from './events.sql';
import type { Row } from './ordered-rows';

/** Not by the settings: a replay may run with others, or none. */
export async function readLotteries(client: Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ address: string }>(LOTTERIES, [TYPE_WITH_DRAWS]);
  return new Set(rows.map(({ address }) => address));
}

/** An event with what is stored of its outcome. */
export interface StoredItem extends Item {
  before: EventOutcome;
  reason: string | null;
  transactionId: string | null;
}

const optional = (text: string): string | null => text || null;
const number = (text: string): number | null => (text ? Number(text) : null);

/** A row of EVENTS. The key is the pool's id, or begins with NO_POOL. No rule depends on the hashes of its block and transaction, so they are not read. */
export function storedItem([key, text, reason]: Row): StoredItem {
  const parts = text!.split(' ');
  const event: ChainEvent = {
    poolId: key.startsWith(NO_POOL) ? null : key,
    // No rule depends on these three.
    poolName: null,
    fee: null,
    remaining: null,
    blockNumber: Number(parts[0]),
    logIndex: Number(parts[1]),
    time: Number(parts[2]),
    contract: parts[3],
    kind: parts[4] as Kind,
    ref: optional(parts[5]),
    drawId: optional(parts[6]),
    account: optional(parts[7]),
    amount: optional(parts[8]),
    aprBps: number(parts[9]),
    drawTime: number(parts[10]),
    seq: Number(parts[13]),
    circleId: optional(parts[14]),
    collateral: optional(parts[15]),
    period: number(parts[16]),
    place: number(parts[17]),
    shares: optional(parts[18]),
    blockHash: '',
    txHash: '',
  };
  return { event, before: parts[11] as EventOutcome, reason, transactionId: optional(parts[12]) };
}

export interface Replayed extends Decision {
  isChanged: boolean;
}

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
  const outcome = outcomeOf(item, pools, rules);
  return { event: item.event, before: item.before, ...outcome, isChanged: isOther(item, outcome) };
}

const isOther = (item: StoredItem, { outcome, reason, transactionId }: Outcome): boolean =>
  outcome !== item.before ||
  (reason ?? null) !== item.reason ||
  (transactionId ?? null) !== item.transactionId;

/** As `decideAgain` tells; what the database once refused stays as it is. */
export const decidesOther = (item: StoredItem, pools: Map<string, PoolState>, rules: Rules): boolean =>
  item.before !== 'FAILED' && isOther(item, outcomeOf(item, pools, rules));

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
