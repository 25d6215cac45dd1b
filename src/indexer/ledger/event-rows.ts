import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { Kind } from '#ledger/adapters/happening';
import type { ChainEvent } from '#indexer/reading/decode';
import type { Decision, Item, EventOutcome } from './decide';
import { UPDATE_KEPT } from './event-writer.sql';

/** A row of chain_events as the statements select it. */
export interface EventRow {
  block_number: string;
  log_index: string;
  block_hash: string;
  block_time: Date;
  tx_hash: string;
  contract: string;
  seq: string;
  kind: Kind;
  pool_id: string | null;
  pool_name: string | null;
  ref: string | null;
  draw_id: string | null;
  account: string | null;
  amount: string | null;
  fee: string | null;
  remaining: string | null;
  apr_bps: string | null;
  draw_time: Date | null;
  circle_id: string | null;
  collateral: string | null;
  period: string | null;
  place: string | null;
  shares: string | null;
  outcome: EventOutcome;
}

const compact = (id: string | null): string | null => id && id.replaceAll('-', '');
const number = (text: string | null): number | null => (text === null ? null : Number(text));
const seconds = (time: Date): number => time.getTime() / 1000;

/** Turns a stored event back into the form in which it was read from the chain. */
export function keptItem(row: EventRow): Item {
  const event: ChainEvent = {
    blockNumber: Number(row.block_number),
    logIndex: Number(row.log_index),
    blockHash: row.block_hash,
    time: seconds(row.block_time),
    txHash: row.tx_hash,
    contract: row.contract,
    seq: Number(row.seq),
    kind: row.kind,
    poolId: compact(row.pool_id),
    poolName: row.pool_name,
    ref: compact(row.ref),
    drawId: row.draw_id,
    account: row.account,
    amount: row.amount,
    fee: row.fee,
    remaining: row.remaining,
    aprBps: number(row.apr_bps),
    drawTime: row.draw_time && seconds(row.draw_time),
    circleId: row.circle_id,
    collateral: row.collateral,
    period: number(row.period),
    place: number(row.place),
    shares: row.shares,
  };
  return { event, before: row.outcome };
}

/** Writes what has become of events that are stored. */
export async function updateKept(client: Client, decisions: Decision[]): Promise<void> {
  const events = decisions.map(({ event }) => event);
  await client.query(UPDATE_KEPT, [
    ...columnsOf(events, 'blockNumber', 'logIndex', 'kind', 'amount'),
    ...columnsOf(decisions, 'outcome', 'reason', 'transactionId'),
  ]);
}

/** Sorts events in chain order. */
export const inChainOrder = (items: Item[]): Item[] =>
  items.sort((a, b) => a.event.blockNumber - b.event.blockNumber || a.event.logIndex - b.event.logIndex);
