const MAX_BLOCKS = 10_000;
/** A database transaction of about so many events is efficient, and still short. */
const TARGET_EVENTS = 8_000;
/** Ranges that must succeed before a larger one is tried. The number doubles each time that the larger one is refused. */
const CALM_RANGES = { first: 10, most: 640 };

/** The first and the last block of one call for logs. */
export interface Part {
  first: number;
  last: number;
}

/** A range in parts of so many blocks. */
export const partsOf = (from: number, to: number, span: number): Part[] =>
  Array.from({ length: Math.ceil((to - from + 1) / span) }, (_, i) => {
    const first = from + i * span;
    return { first, last: Math.min(first + span - 1, to) };
  });

/**
 * How many blocks to read as one range, so that a batch has a good size; and for how many of them to ask an endpoint in
 * one call: as many as it accepts, which is found by trying. Providers limit calls, so a small limit leads to ranges of
 * several calls, which share their headers and counts.
 */
export class RangeSize {
  /** Of a range. */
  blocks = 64;
  /** Of one call. */
  span = MAX_BLOCKS;
  private calm = 0;
  private spanCalm = 0;
  private patience = CALM_RANGES.first;
  /** Whether the span was increased and has not succeeded yet. */
  private isTried = false;

  /** The range could not be read, and nothing tells why. */
  shrink(from = this.blocks): void {
    this.blocks = Math.max(1, Math.floor(from / 2));
    this.calm = CALM_RANGES.first;
  }

  /** The endpoint refused a call for so many blocks. Others that were under way then may be refused later. */
  refuse(blocks: number): void {
    if (blocks > this.span) return;
    if (this.isTried) this.patience = Math.min(this.patience * 2, CALM_RANGES.most);
    this.isTried = false;
    this.spanCalm = this.patience;
    this.span = Math.max(1, Math.floor(blocks / 2));
  }

  /** A range was read whole. */
  adapt(events: number, blocks: number): void {
    if (events > TARGET_EVENTS * 1.5)
      this.blocks = Math.max(1, Math.floor((blocks * TARGET_EVENTS) / events));
    else if (events < TARGET_EVENTS / 2 && blocks >= this.blocks && this.calm-- <= 0)
      this.blocks = Math.min(MAX_BLOCKS, this.blocks * 2);
    if (blocks < this.span || this.span === MAX_BLOCKS) return;
    if (this.isTried) this.patience = CALM_RANGES.first;
    this.isTried = this.spanCalm-- <= 0;
    if (this.isTried) this.span = Math.min(MAX_BLOCKS, this.span * 2);
  }
}
