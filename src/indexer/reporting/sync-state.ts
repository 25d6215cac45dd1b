import type { CursorState } from '#indexer/ledger/chain-cursor';
import type { Block } from '#indexer/reading/raw-chain';

/** A cursor at most so many blocks behind the best known head counts as synced. */
export const SYNCED_WITHIN_BLOCKS = 5;
/** Without progress or a confirmed head for this long, the chain counts as disconnected. */
const STALL_MS = 15_000;
/** A head may be late by so many block intervals, and in any case by so many seconds. */
const LATE_INTERVALS = 3;
const MIN_HEAD_AGE_S = 15;
/** Wait for the next block: a quarter of the median interval within these limits, or half a second if it is unknown. */
const WAIT_MS = { least: 200, most: 2000, unknown: 500 };
/** Fewer intervals are not enough to know the chain's pace. */
const MIN_INTERVALS = 10;
const BLOCKS_KEPT = 65;
/** A head that no endpoint has had for this long is forgotten. */
const BEST_KEPT_MS = 600_000;
/** Chain ids of anvil, Hardhat, Ganache and `geth --dev`. They mine on demand, so a quiet chain is normal. */
const DEVELOPMENT_CHAINS = new Set([1337, 31337]);

/** Tells whether the ledger is current, from the heads, the clock and the last block read. */
export class SyncState {
  /** On a development chain the age of the head does not count. */
  chainId?: number;
  best = 0;
  cursor?: Block;
  progressAt: number;
  private bestAt: number;
  private halted = false;
  private outOfReach = false;
  private doubted = false;
  /** The last blocks that were read, without gaps: only consecutive blocks show the pace. */
  private blocks: Pick<Block, 'number' | 'time'>[] = [];

  /** @param maxHeadAge in seconds; 0: no limit; undefined: derived from the chain's own pace */
  constructor(
    private readonly maxHeadAge: number | undefined,
    private readonly now: () => number = Date.now,
  ) {
    this.progressAt = this.bestAt = now();
  }

  /** Starts from the cursor of the database and the last known head. */
  start(cursor: Block, best: number, window: Block[]): void {
    this.cursor = cursor;
    this.best = Math.max(best, cursor.number);
    this.bestAt = this.now();
    this.blocks = [];
    this.keep([...window].reverse());
    this.progressAt = this.now();
    this.halted = false;
  }

  /** Notes a head. A lower one does not replace the best head: that endpoint is just behind. */
  seen(head: number): void {
    const forgotten = this.now() - this.bestAt > BEST_KEPT_MS;
    if (head < this.best && !forgotten) return;
    this.best = Math.max(head, this.cursor?.number ?? 0);
    this.bestAt = this.now();
  }

  /** The endpoint with the best head cannot show its blocks: the next head counts, even if it is lower. */
  forgetBest(): void {
    this.bestAt = -Infinity;
  }

  /** The cursor was moved, or confirmed to be at the head. */
  progressed(cursor: Block, blocks: Block[] = []): void {
    this.cursor = cursor;
    this.progressAt = this.now();
    this.outOfReach = this.doubted = false;
    this.keep(blocks);
  }

  cutOff(): void {
    this.outOfReach = true;
  }

  /** The endpoints leave out events or disagree, so the ledger may lack events. */
  doubt(): void {
    this.doubted = true;
  }

  halt(): void {
    this.halted = true;
  }

  get state(): CursorState {
    if (this.halted) return 'halted';
    if (!this.cursor || this.outOfReach || this.now() - this.progressAt > STALL_MS) return 'disconnected';
    const behind = this.best - this.cursor.number > SYNCED_WITHIN_BLOCKS;
    return behind || this.doubted || this.headAge > this.headAgeLimit ? 'syncing' : 'synced';
  }

  /** Age of the last block read, in seconds. */
  get headAge(): number {
    return this.cursor ? Math.max(0, this.now() / 1000 - this.cursor.time) : 0;
  }

  /** In seconds. If the head is older, the node is stuck, not the chain quiet. */
  get headAgeLimit(): number {
    if (this.maxHeadAge !== undefined) return this.maxHeadAge || Infinity;
    if (this.minesOnDemand) return Infinity;
    const { median } = this;
    return median === undefined ? Infinity : Math.max(MIN_HEAD_AGE_S, LATE_INTERVALS * median);
  }

  /** Nothing new was found just now. @returns how long to wait before looking again, in ms */
  waitForNext(): number {
    const { median } = this;
    if (this.minesOnDemand || median === undefined) return WAIT_MS.unknown;
    return Math.min(Math.max(median * 250, WAIT_MS.least), WAIT_MS.most);
  }

  /** Seconds between two blocks; undefined while too few are known. */
  private get median(): number | undefined {
    const intervals = this.blocks.slice(1).map(({ time }, i) => time - this.blocks[i].time);
    const sorted = intervals.sort((a, b) => a - b);
    return sorted.length < MIN_INTERVALS ? undefined : sorted[Math.floor(sorted.length / 2)];
  }

  private keep(blocks: Block[]): void {
    for (const block of blocks) {
      if (block.number !== (this.blocks.at(-1)?.number ?? 0) + 1) this.blocks = [];
      this.blocks.push(block);
    }
    this.blocks = this.blocks.slice(-BLOCKS_KEPT);
  }

  private get minesOnDemand(): boolean {
    return this.chainId === undefined || DEVELOPMENT_CHAINS.has(this.chainId);
  }
}
