const MAX_BLOCKS = 10_000;
/** A database transaction of about this many events is efficient and short. */
const TARGET_EVENTS = 8_000;
/** Ranges to go before one that was too large is tried again. */
const CALM_RANGES = 10;

/** How many blocks an endpoint is asked for at once: what it takes, and what makes a batch of a good size. */
export class RangeSize {
  blocks = 64;
  private calm = 0;

  shrink(from = this.blocks): void {
    this.blocks = Math.max(1, Math.floor(from / 2));
    this.calm = CALM_RANGES;
  }

  adapt(events: number, blocks: number): void {
    if (events > TARGET_EVENTS * 1.5)
      this.blocks = Math.max(1, Math.floor((blocks * TARGET_EVENTS) / events));
    else if (events < TARGET_EVENTS / 2 && blocks >= this.blocks && this.calm-- <= 0)
      this.blocks = Math.min(MAX_BLOCKS, this.blocks * 2);
  }
}
