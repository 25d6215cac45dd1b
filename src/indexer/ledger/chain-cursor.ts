import type { Confirmations } from '#settings/indexer.settings';
import type { Marks } from '#indexer/blocks/finality';
import type { Block } from '#indexer/reading/raw-chain';

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
  /** Whether the cursor moves, or is confirmed to be at the head. */
  progressed?: boolean;
}

/** The cursor is not where this process left it: another process leads. */
export class LeadershipLost extends Error {}
