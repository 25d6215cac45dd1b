import { type BlockBatch, WINDOW_BLOCKS } from './block-batch';
import type { Tag } from './tags';

/** Number of the last block that endpoints call safe or final, and the hashes that they say it has. */
export interface Mark {
  number: number;
  hashes: string[];
}
export type Marks = Partial<Record<Tag, Mark>>;

/**
 * Where finality is further behind, only so many blocks are kept: 34 minutes of blocks of 250 ms, 27 hours of blocks of
 * 12 seconds. Their headers take some 2 MB.
 */
export const MOST_BLOCKS = 8192;

/**
 * The lowest block to which the indexer goes back automatically. What is final stays, even if it is less than 64 blocks
 * deep.
 * @param finalized undefined: no endpoint says which block is final, so 64 blocks may change
 */
export const undoneFrom = (last: number, finalized = last - WINDOW_BLOCKS): number =>
  Math.max(finalized, last - MOST_BLOCKS);

/** The lowest block whose header is kept: headers are kept of all blocks that may be undone, and of at least 64. */
export const keptFrom = (last: number, finalized?: number): number =>
  Math.min(last - WINDOW_BLOCKS, undoneFrom(last, finalized));

/**
 * How far a mark holds for the ledger's own blocks once a batch is applied that was read after the mark was made. Near
 * the head the ledger may be on another branch than the marked block, so its own block has to have the mark's hash.
 * Deeper, the batch is of the chain that the mark is of, as it was read after it.
 * @param hashAt hash of the ledger's own block, undefined if its header is not kept
 * @returns undefined if the mark says nothing of the ledger
 */
export async function reachOf(
  { number, hashes }: Mark,
  { to, blocks }: Pick<BlockBatch, 'to' | 'blocks'>,
  head: number,
  hashAt: (number: number) => Promise<string | undefined>,
): Promise<number | undefined> {
  const isDeep = (block: number): boolean => block <= head - WINDOW_BLOCKS;
  if (number > to.number) return isDeep(to.number) ? to.number : undefined;
  const ours = [to, ...blocks].find((block) => block.number === number)?.hash ?? (await hashAt(number));
  if (ours === undefined) return isDeep(number) ? number : undefined;
  return hashes.includes(ours) ? number : undefined;
}
