import type { Block } from '#indexer/reading/raw-chain';

/** The last block that the ledger contains, and the epoch of the process that may move it. */
export interface ChainCursor extends Block {
  epoch: number;
}

export type CursorState = 'synced' | 'syncing' | 'disconnected' | 'halted';

/** The cursor's state relative to the chain, stored with it. */
export interface Standing {
  state: CursorState;
  /** Number of the best head known. */
  head: number;
  /** Whether the batch proves that no event is missing up to its end. */
  proven?: boolean;
  /** Whether the cursor moves, or is confirmed to be at the head. */
  progressed?: boolean;
}

/** The cursor is not where this process left it: another process leads. */
export class LeadershipLost extends Error {}
