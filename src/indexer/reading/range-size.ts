const MAX_BLOCKS = 10_000;
/** A database transaction of about so many events is efficient, and still short. */
const TARGET_EVENTS = 8_000;
/** After so many ranges, a size that was too large is tried again. */
const CALM_RANGES = 10;

/** How many blocks to ask an endpoint for at once: as many as it accepts and as make a batch of a good size. */
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
