import type { Block } from '#indexer/reading/raw-chain';

/** Wait for the next block of a chain that has no pace, or whose pace is not known. */
export const UNKNOWN_MS = 500;
/** Time between two looks at the time when a block may come: a quarter of the pace, within these. */
const LEAST_MS = 200;
const MOST_MS = 1000;
/** Standbys and health expect a sign of life more often than the slowest chains have blocks. */
const LONGEST_MS = 10_000;
/** Fewer intervals are not enough to know the chain's pace. */
const MIN_INTERVALS = 10;
const TIMES_KEPT = 65;
const ARRIVALS_KEPT = 32;

/**
 * When the next block may come. Blocks tell their times in whole seconds; looking tells how long after that time a
 * block arrives here, by this machine's clock, however wrong that is. As long as no block has ever come so early, the
 * chain need not be asked.
 */
export class Pace {
  private blocks: Pick<Block, 'number' | 'time'>[] = [];
  /** Of the last blocks: how long after its time it was not there yet, in ms. */
  private notBefore: number[] = [];
  private lookedAt = -Infinity;

  constructor(private readonly now: () => number = Date.now) {}

  /** Starts from blocks that were read earlier. When they came here is not known. */
  restart(blocks: Block[]): void {
    this.blocks = [];
    this.notBefore = [];
    this.keep(blocks);
  }

  /** The blocks after this one are no longer on the chain. */
  rewound(number: number): void {
    this.blocks = this.blocks.filter((block) => block.number <= number);
  }

  /** Blocks that were just read: the last one is the newest. Only consecutive blocks show the pace. */
  observe(blocks: Block[]): void {
    if (blocks.length === 0) return;
    const isNew = blocks.at(-1)!.number > (this.blocks.at(-1)?.number ?? Infinity);
    this.keep(blocks);
    if (!isNew) return;
    const { stepMs } = this;
    const afterMs = (at: number): number => at - blocks.at(-1)!.time * 1000;
    // It was looked for all the time, or it may have come a while before.
    const isTight = this.now() - this.lookedAt <= 2 * stepMs;
    this.notBefore.push(isTight ? afterMs(this.lookedAt) : afterMs(this.now()) - 2 * stepMs);
    this.notBefore = this.notBefore.slice(-ARRIVALS_KEPT);
  }

  /** Seconds between two blocks; undefined while too few are known. */
  get median(): number | undefined {
    const sorted = this.intervals.sort((a, b) => a - b);
    return sorted.length < MIN_INTERVALS ? undefined : sorted[Math.floor(sorted.length / 2)];
  }

  /** Nothing new was found just now. @returns how long to wait before looking again, in ms */
  wait(): number {
    this.lookedAt = this.now();
    if (this.intervals.length < MIN_INTERVALS) return UNKNOWN_MS;
    const shortestMs = Math.min(...this.intervals) * 1000;
    const earliest = this.blocks.at(-1)!.time * 1000 + shortestMs + Math.min(...this.notBefore);
    const quietMs = this.notBefore.length > 0 ? earliest - this.lookedAt : 0;
    return Math.min(Math.max(quietMs, this.stepMs), LONGEST_MS);
  }

  private get stepMs(): number {
    if (this.intervals.length < MIN_INTERVALS) return UNKNOWN_MS;
    const seconds = (this.blocks.at(-1)!.time - this.blocks[0].time) / this.intervals.length;
    return Math.min(Math.max((seconds * 1000) / 4, LEAST_MS), MOST_MS);
  }

  private get intervals(): number[] {
    return this.blocks.slice(1).map(({ time }, i) => time - this.blocks[i].time);
  }

  /** The single header of a long range starts a new series. */
  private keep(blocks: Block[]): void {
    for (const block of blocks) {
      if (block.number !== (this.blocks.at(-1)?.number ?? 0) + 1) this.blocks = [];
      this.blocks.push(block);
    }
    this.blocks = this.blocks.slice(-TIMES_KEPT);
  }
}
