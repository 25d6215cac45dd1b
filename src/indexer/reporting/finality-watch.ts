import { MOST_BLOCKS } from '#indexer/reading/finality';
import { WINDOW_BLOCKS } from '#indexer/reading/block-batch';

type Reach = 'unknown' | 'near' | 'far';

const TOLD: Record<Reach, string> = {
  unknown: `no endpoint says which blocks are final: the last ${WINDOW_BLOCKS} may change, a deeper change halts, and CONFIRMATIONS=safe or finalized waits`,
  near: 'blocks become final again',
  far: `the last final block is more than ${MOST_BLOCKS} blocks back: a change deeper than these halts`,
};

/** The last final block, as metrics and health tell it, and what there is to say when it changes how far it is. */
export class FinalityWatch {
  finalized?: number;
  private reach: Reach = 'near';

  /** Call after each batch. @returns a line for the log, when things have changed */
  note({ number, finalized }: { number: number; finalized?: number }): string | undefined {
    this.finalized = finalized;
    const reach = finalized === undefined ? 'unknown' : number - finalized > MOST_BLOCKS ? 'far' : 'near';
    if (reach === this.reach) return undefined;
    this.reach = reach;
    return TOLD[reach];
  }
}
