import type { Client } from 'pg';
import type { Look } from '#verify/checks/look';
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
import { TYPE_WITH_DRAWS } from '#values/types';

/** SQL: 32 hex digits, as the rules compare ids. */
const compact = (id: string): string => `encode(uuid_send(${id}), 'hex')`;
/** SQL: nothing where it is null. */
const optional = (value: string): string => `coalesce(${value}::text, '')`;

/** Begins the key of events that name no pool, and is followed by their contract and draw. */
export const NO_POOL = '~';
const OF_NONE = `CASE WHEN e.pool_id IS NULL THEN concat_ws(' ', '${NO_POOL}', e.contract, e.draw_id) END`;

/**
 * The pools, each with all deposits that were ever announced, the oldest first, as before any was paid; and behind each
 * its events. Most values of a row are joined by blanks into one text, as rows of many columns cost twice as much to sort
 * and to send. No value contains a blank.
 */
const stored = (events: string, pools = ''): string => `
  SELECT coalesce(pool_id::text, of_none) AS key, event, text FROM (
    SELECT p.id AS pool_id, NULL AS of_none, NULL::bigint AS block_number, NULL::bigint AS log_index, t.id AS deposit,
      NULL AS event, concat_ws(' ', p.contract_address, u.address, ${compact('t.id')}, t.account, t.requested_amount) AS text
    FROM pools p JOIN users u ON u.id = p.owner_id LEFT JOIN transactions t
      ON t.pool_id = p.id AND t.requested_amount IS NOT NULL AND t.type = 'DEPOSIT' ${pools}
    UNION ALL
    SELECT e.pool_id, ${OF_NONE}, block_number, log_index, NULL,
      concat_ws(' ', block_number, log_index, date_part('epoch', block_time)::bigint, contract,
        kind, ${optional(compact('ref'))}, ${optional('draw_id')}, ${optional('account')}, ${optional('amount')},
        ${optional('apr_bps')}, ${optional(`date_part('epoch', draw_time)::bigint`)}, outcome,
        ${optional(compact('transaction_id'))}, seq, ${optional('circle_id')}, ${optional('collateral')},
        ${optional('period')}, ${optional('place')}, ${optional('shares')}), reason
    FROM ${events}
  ) rows ORDER BY pool_id, of_none, block_number NULLS FIRST, log_index, deposit`;
export const STORED = stored('chain_events e');
/** Parameters: pool ids; contracts and ids of draws, null for events that have neither. */
export const STORED_OF = stored(
  `(
    SELECT * FROM chain_events WHERE pool_id = ANY($1::uuid[])
    UNION ALL
    SELECT e.* FROM unnest($2::text[], $3::numeric[]) AS w(contract, draw_id) JOIN chain_events e
      ON e.contract = w.contract AND e.draw_id = w.draw_id WHERE e.pool_id IS NULL
    UNION ALL
    SELECT e.* FROM unnest($2::text[], $3::numeric[]) AS w(contract, draw_id) JOIN chain_events e
      ON e.contract = w.contract WHERE w.draw_id IS NULL AND e.pool_id IS NULL AND e.draw_id IS NULL) e`,
  'WHERE p.id = ANY($1::uuid[])',
);

/** The event is null in rows of pools. The text is the reason of an event's outcome, or the pool. */
interface Row {
  key: string;
  event: string | null;
  text: string | null;
}

/**
 * The lotteries: contracts that are followed as such, or were when one of their draws was opened. An installation that
 * follows one no longer keeps its draws, as pools are kept.
 */
const LOTTERIES = `
  SELECT address::text FROM chain_contracts WHERE type = $1
  UNION SELECT contract::text FROM chain_events WHERE kind = 'DrawOpened' AND outcome = 'APPLIED'`;

/** Not by the settings: a replay may run with others, or none. */
export async function readLotteries(client: Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ address: string }>(LOTTERIES, [TYPE_WITH_DRAWS]);
  return new Set(rows.map(({ address }) => address));
}

const orNull = (text: string): string | null => text || null;
const number = (text: string): number | null => (text ? Number(text) : null);

interface StoredItem extends Item {
  before: EventOutcome;
  transactionId: string | null;
}

function itemOf({ key, event: text }: Row): StoredItem {
  const [block, logIndex, time, contract, kind, ref, drawId, account, amount, aprBps, drawTime, ...others] =
    text!.split(' ');
  const [outcome, transactionId, seq, circleId, collateral, period, place, shares] = others;
  const event: ChainEvent = {
    ...{ poolId: key.startsWith(NO_POOL) ? null : key, contract, kind: kind as Kind },
    ...{ blockNumber: Number(block), logIndex: Number(logIndex), time: Number(time), seq: Number(seq) },
    ...{ ref: orNull(ref), drawId: orNull(drawId), circleId: orNull(circleId), account: orNull(account) },
    ...{ amount: orNull(amount), collateral: orNull(collateral), shares: orNull(shares) },
    ...{ aprBps: number(aprBps), drawTime: number(drawTime), period: number(period), place: number(place) },
    // No rule depends on the others, so they are not read.
    ...{ poolName: null, fee: null, remaining: null, blockHash: '', txHash: '' },
  };
  return { event, before: outcome as EventOutcome, transactionId: orNull(transactionId) };
}

function addToPool(pools: Map<string, PoolState>, { key, text }: Row): void {
  const [contract, owner, id, account, requested] = text!.split(' ');
  // The id of its owner decides nothing.
  const pool = pools.get(key) ?? { contract, ownerId: '', owner, circle: null, balance: 0n, announced: [] };
  pools.set(key, pool);
  if (id) pool.announced.push({ id, account, requested });
}

const isOther = (item: StoredItem, reason: string | null, outcome: Outcome): boolean =>
  outcome.outcome !== item.before ||
  (outcome.reason ?? null) !== reason ||
  (outcome.transactionId ?? null) !== item.transactionId;

/**
 * Decides stored events again, pool by pool, in the order of the chain.
 * @param statement one of those above
 * @param tryFailed whether what the database once refused is decided too; otherwise it stays as it is
 * @param use gets the key of each event, its outcome before, and the decision if that is another one now
 * @param then is called after some thousand rows
 */
export async function decideAgain(
  look: Look,
  [statement, ...values]: [string, ...unknown[]],
  rules: Rules,
  tryFailed: boolean,
  use: (key: string, before: EventOutcome, changed?: Decision) => void,
  then: () => Promise<void>,
): Promise<void> {
  const pools = new Map<string, PoolState>();
  let last = '';
  for await (const rows of look.stream<Row>(statement, ...values)) {
    for (const row of rows) {
      if (row.key !== last) pools.clear();
      last = row.key;
      if (row.event === null) {
        addToPool(pools, row);
        continue;
      }
      const item = itemOf(row);
      const outcome = item.before === 'FAILED' && !tryFailed ? undefined : outcomeOf(item, pools, rules);
      const isChanged = outcome !== undefined && isOther(item, row.text, outcome);
      use(
        row.key,
        item.before,
        isChanged ? { event: item.event, before: item.before, ...outcome } : undefined,
      );
    }
    await then();
  }
}
