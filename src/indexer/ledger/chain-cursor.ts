import type { Client } from 'pg';
import type { Confirmations } from '#settings/indexer.settings';
import { type Marks, reachOf } from '#indexer/reading/finality';
import type { KeptBlocks } from './kept-blocks';
import { type BlockBatch, WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import type { Block } from '#indexer/reading/raw-chain';
import type { Tag } from '#indexer/reading/tags';

/** The last block that the ledger contains, and the epoch of the process that may move it. */
export interface ChainCursor extends Block {
  epoch: number;
  /** The last block whose events have taken effect. */
  applied: number;
  /** The last block up to which the ledger is final; undefined while no endpoint says which block is. */
  finalized?: number;
}

/**
 * The last block in effect. By tags it goes on only when a block gets the tag, and never back: while nobody tells the
 * tag, or after CONFIRMATIONS was changed, it stays where it is.
 */
export const effectiveOf = (
  { number, applied }: Pick<ChainCursor, 'number' | 'applied'>,
  confirmations: Confirmations,
  tagged = applied,
): number =>
  typeof confirmations === 'number' ? number - confirmations : Math.min(Math.max(applied, tagged), number);

export type CursorState = 'synced' | 'syncing' | 'disconnected' | 'halted';

/** The cursor's state relative to the chain, stored with it. */
export interface Standing {
  state: CursorState;
  /** Number of the best head known. */
  head: number;
  /** What the endpoints called safe and final before the batch was read. */
  marks?: Marks;
  /** Whether the batch proves that no event is missing up to its end. */
  proven?: boolean;
  /** Contracts for which receipts prove that no event is missing in the batch. */
  byReceipts?: ReadonlySet<string>;
  /** Whether the cursor moves, or is confirmed to be at the head. */
  progressed?: boolean;
}

/** The cursor is not where this process left it: another process leads. */
export class LeadershipLost extends Error {}

/** Events that have waited and take effect with one batch; more only if they are of one block. */
const MOST_AT_ONCE = 2_000;
/** The block of the first waiting event that is one too many. Parameters: the last block, number of events. */
const END_OF_STEP = `
  SELECT block_number AS number FROM chain_events WHERE outcome = 'WAITING' AND block_number <= $1
  ORDER BY block_number OFFSET $2 LIMIT 1`;

interface Move {
  cursor: ChainCursor;
  batch: Pick<BlockBatch, 'to' | 'blocks'>;
  standing: Standing;
  confirmations: Confirmations;
}

/** How far the ledger is in effect and final once the cursor has moved to the end of a batch. */
export async function reach(
  client: Client,
  kept: KeptBlocks,
  { cursor, batch, standing: { head, marks }, confirmations }: Move,
): Promise<Pick<ChainCursor, 'applied' | 'finalized'>> {
  const by = async (tag: Tag, known = -1): Promise<number | undefined> => {
    const mark = marks?.[tag];
    return mark && mark.number > known
      ? reachOf(mark, batch, head, (number) => kept.hashAt(number))
      : undefined;
  };
  const finalized = highest(cursor.finalized, await by('finalized', cursor.finalized));
  const tagged = confirmations === 'safe' ? highest(finalized, await by('safe', cursor.applied)) : finalized;
  const applied = effectiveOf({ ...cursor, number: batch.to.number }, confirmations, tagged);
  return { applied: await inSteps(client, cursor, applied), finalized };
}

/** Of two numbers, either of which may be unknown. */
const highest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);

/**
 * A ledger far behind its cursor, because finality stalled or CONFIRMATIONS was changed, may have any number of events
 * that wait. They take effect by and by.
 */
async function inSteps(client: Client, { number, applied }: ChainCursor, effective: number): Promise<number> {
  if (number - applied <= WINDOW_BLOCKS) return effective;
  const { rows } = await client.query<{ number: string }>(END_OF_STEP, [effective, MOST_AT_ONCE]);
  return rows[0] ? Number(rows[0].number) : effective;
}
