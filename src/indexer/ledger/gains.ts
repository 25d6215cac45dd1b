import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { ChainEvent } from '#indexer/reading/decode';
import { MAX_LOGS, MAX_PLACES } from '#indexer/reading/raw-chain';
import type { Item, PoolState, Rules } from './decide';
import { inChainOrder } from './event-rows';
import { second } from './movements';
import { LOAD_POSITIONS } from './positions.sql';

type OfAccount = ChainEvent & Record<'poolId' | 'account' | 'amount', string>;

const keyOf = ({ poolId, account }: OfAccount): string => `${poolId} ${account}`;
const placeOf = ({ blockNumber, logIndex }: ChainEvent): string => `${blockNumber} ${logIndex}`;

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

/** As `splitGains` says, by the stored positions. */
export async function withGains(
  client: Client,
  items: Item[],
  pools: Map<string, PoolState>,
  rules: Rules,
): Promise<{ items: Item[]; gains: number }> {
  const paid = items.flatMap(({ event }) =>
    event.kind === 'Withdrawn' && moves(event, pools, rules) ? event : [],
  );
  if (paid.length === 0) return { items, gains: 0 };
  const { rows } = await client.query<Record<'pool' | 'address' | 'balance', string>>({
    ...LOAD_POSITIONS,
    values: columnsOf(new Map(paid.map((event) => [keyOf(event), event])).values(), 'poolId', 'account'),
  });
  const held = new Map(rows.map(({ pool, address, balance }) => [`${pool} ${address}`, BigInt(balance)]));
  return splitGains(items, held, pools, rules);
}

/**
 * Splits withdrawals of more than has left their account's position: the rest is a claim of yield. It has the place of
 * the log's second event, or is added to the claim that is there. When the events take effect again after a
 * reorganisation, nothing is left to split.
 * @param items in chain order
 * @param held what accounts have in pools before, by both. It is changed in place
 */
export function splitGains(
  items: Item[],
  held: Map<string, bigint>,
  pools: Map<string, PoolState>,
  rules: Rules,
): { items: Item[]; gains: number } {
  const made = new Map(items.map((item) => [placeOf(item.event), item]));
  let gains = 0;
  for (const { event, before } of items) {
    if (!moves(event, pools, rules)) continue;
    const balance = held.get(keyOf(event)) ?? 0n;
    const amount = BigInt(event.amount);
    const leaves = balance - BigInt(event.remaining ?? 0);
    const principal = amount < leaves ? amount : leaves > 0n ? leaves : 0n;
    held.set(keyOf(event), event.kind === 'Deposited' ? balance + amount : balance - principal);
    if (event.kind === 'Deposited' || principal === amount) continue;
    const claim: ChainEvent = { ...event, kind: 'YieldClaimed', ref: null, remaining: null };
    const other = made.get(placeOf(second(claim)));
    if (principal === 0n) made.set(placeOf(event), { event: claim, before });
    // No log has a third event.
    else if (event.logIndex >= MAX_LOGS || (other && other.event.kind !== 'YieldClaimed')) continue;
    else {
      const gain = amount - principal + BigInt(other?.event.amount ?? 0);
      made.set(placeOf(event), { event: { ...event, amount: `${principal}` }, before });
      made.set(placeOf(second(claim)), {
        event: { ...second(claim), amount: `${gain}` },
        before: other?.before,
      });
    }
    gains += 1;
  }
  return { items: gains > 0 ? inChainOrder([...made.values()]) : items, gains };
}
