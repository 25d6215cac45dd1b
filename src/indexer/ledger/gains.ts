import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { ChainEvent } from '#indexer/reading/decode';
import { MAX_LOGS, MAX_PLACES } from '#indexer/reading/raw-chain';
import type { Item, PoolState, Rules } from './decide';
import { second } from './movements';
import { LOAD_POSITIONS } from './positions.sql';

type OfAccount = ChainEvent & Record<'poolId' | 'account' | 'amount', string>;

const keyOf = ({ poolId, account }: OfAccount): string => `${poolId} ${account}`;
type Place = Pick<ChainEvent, 'blockNumber' | 'logIndex'>;
const placeOf = ({ blockNumber, logIndex }: Place): string => `${blockNumber} ${logIndex}`;
const isOfSame = (a: ChainEvent, b: ChainEvent): boolean => a.poolId === b.poolId && a.account === b.account;

/**
 * A deposit into a pool or a withdrawal, in effect, whose contract may pay out more than leaves the position. Contracts
 * that number their events, as the reference contracts do, have no number for a second event of a log.
 */
function moves(event: ChainEvent, pools: Map<string, PoolState>, rules: Rules): event is OfAccount {
  const { kind, poolId, account, amount, shares, contract, blockNumber, logIndex, seq } = event;
  return (
    (kind === 'Withdrawn' || kind === 'Deposited') &&
    seq === blockNumber * MAX_PLACES + logIndex &&
    blockNumber <= rules.effective &&
    !rules.later?.has(event) &&
    account !== null &&
    amount !== null &&
    shares === null &&
    pools.get(poolId ?? '')?.contract === contract
  );
}

/** Sorts events in chain order. */
export const inChainOrder = (items: Item[]): Item[] =>
  items.sort((a, b) => a.event.blockNumber - b.event.blockNumber || a.event.logIndex - b.event.logIndex);

/** The log position of the other event that its log may have. */
const otherPlaceOf = ({ blockNumber, logIndex }: ChainEvent): Place => ({
  blockNumber,
  logIndex: logIndex < MAX_LOGS ? logIndex + MAX_LOGS : logIndex - MAX_LOGS,
});

/** Parameters: blocks and log indexes. */
const FIND_STORED = `
  SELECT block_number AS "blockNumber", log_index AS "logIndex" FROM chain_events
  JOIN unnest($1::bigint[], $2::bigint[]) AS w(block_number, log_index) USING (block_number, log_index)`;

/** As `splitGains` says, by the stored positions. */
export async function withGains(
  client: Client,
  items: Item[],
  pools: Map<string, PoolState>,
  rules: Rules,
): Promise<{ items: Item[]; gains: number }> {
  const paid = new Map<string, OfAccount>();
  const others: Place[] = [];
  for (const { event, before } of items) {
    if (event.kind !== 'Withdrawn' || !moves(event, pools, rules)) continue;
    paid.set(keyOf(event), event);
    // Both events of a new log are among the items. Of a stored one, the other may have been applied before.
    if (before) others.push(otherPlaceOf(event));
  }
  if (paid.size === 0) return { items, gains: 0 };
  const { rows } = await client.query<Record<'pool' | 'address' | 'balance', string>>({
    ...LOAD_POSITIONS,
    values: columnsOf(paid.values(), 'poolId', 'account'),
  });
  const held = new Map(rows.map(({ pool, address, balance }) => [`${pool} ${address}`, BigInt(balance)]));
  const stored = await client.query<Place>(FIND_STORED, columnsOf(others, 'blockNumber', 'logIndex'));
  return splitGains(items, held, pools, { ...rules, stored: new Set(stored.rows.map(placeOf)) });
}

/**
 * Splits withdrawals of more than has left their account's position: the rest is a claim of yield. It has the place of
 * the log's second event, or is added to the log's other event if that is a claim of the same account in the same pool.
 * If the log has any other event, the withdrawal stays whole. When the events take effect again after a
 * reorganisation, nothing is left to split.
 * @param items in chain order
 * @param held what accounts have in pools before, by both. It is changed in place
 * @param rules with the log positions of events that are already stored
 */
export function splitGains(
  items: Item[],
  held: Map<string, bigint>,
  pools: Map<string, PoolState>,
  rules: Rules & { stored?: ReadonlySet<string> },
): { items: Item[]; gains: number } {
  const made = new Map(items.map((item) => [placeOf(item.event), item]));
  let gains = 0;
  for (const { event, before } of items) {
    if (!moves(event, pools, rules)) continue;
    const key = keyOf(event);
    const balance = held.get(key) ?? 0n;
    const amount = BigInt(event.amount);
    if (event.kind === 'Deposited') {
      held.set(key, balance + amount);
      continue;
    }
    const leaves = balance - BigInt(event.remaining ?? 0);
    const principal = amount < leaves ? amount : leaves > 0n ? leaves : 0n;
    const claim: ChainEvent = { ...event, kind: 'YieldClaimed', ref: null, remaining: null };
    const place = placeOf(otherPlaceOf(event));
    const other = made.get(place);
    const takesClaim = other
      ? other.event.kind === 'YieldClaimed' && isOfSame(other.event, event)
      : event.logIndex < MAX_LOGS && !rules.stored?.has(place);
    if (principal === amount || (principal > 0n && !takesClaim)) {
      held.set(key, amount < balance ? balance - amount : 0n);
      continue;
    }
    held.set(key, balance - principal);
    gains += 1;
    if (principal === 0n) {
      made.set(placeOf(event), { event: claim, before });
      continue;
    }
    made.set(placeOf(event), { event: { ...event, amount: `${principal}` }, before });
    const gain = amount - principal + BigInt(other?.event.amount ?? 0);
    made.set(place, {
      event: { ...(other?.event ?? second(claim)), amount: `${gain}` },
      before: other?.before,
    });
  }
  return { items: gains > 0 ? inChainOrder([...made.values()]) : items, gains };
}
