import type { CursorState } from './event-writer';
import type { Block } from './raw-chain';

/** Blocks behind the best head known that still count as synced. */
export const SYNCED_WITHIN = 5;
/** Without a step forward or a confirmed head for this long the chain counts as out of reach. */
const STALL_MS = 15_000;
/** Block intervals by which a head may be late, and the shortest wait that follows from them. */
const LATE_INTERVALS = 3;
const MIN_HEAD_AGE_S = 15;
/** Fewer intervals say nothing about a chain's pace. */
const MIN_INTERVALS = 10;
const TIMES_KEPT = 65;
/** A head that nobody has had for this long was none. */
const BEST_KEPT_MS = 600_000;
/** Of anvil, Hardhat, Ganache and `geth --dev`, which mine on demand: a quiet chain is no sign of a stuck node. */
const DEVELOPMENT_CHAINS = new Set([1337, 31337]);

/** Tells from heads, the clock and what was read last how far the ledger can be trusted to be current. */
export class SyncState {
  /** The chain that is read; decides whether the clock counts. */
  chainId?: number;
  best = 0;
  cursor?: Block;
  progressAt: number;
  private bestAt: number;
  private halted = false;
  private outOfReach = false;
  private doubted = false;
  private times: number[] = [];

  /** @param maxHeadAge in seconds, 0 for none; undefined: by the chain's own pace */
  constructor(
    private readonly maxHeadAge: number | undefined,
    private readonly now: () => number = Date.now,
  ) {
    this.progressAt = this.bestAt = now();
  }

  /** Starts over from the cursor of the database, and the last head that anyone knew. */
  start(cursor: Block, best: number, window: Block[]): void {
    this.cursor = cursor;
    this.best = Math.max(best, cursor.number);
    this.bestAt = this.now();
    this.times = [];
    this.observe([...window].reverse());
    this.progressAt = this.now();
    this.halted = false;
  }

  /** A head that an endpoint knows. One that was seen is not forgotten when an endpoint falls behind. */
  seen(head: number): void {
    const forgotten = this.now() - this.bestAt > BEST_KEPT_MS;
    if (head < this.best && !forgotten) return;
    this.best = Math.max(head, this.cursor?.number ?? 0);
    this.bestAt = this.now();
  }

  /** The cursor was moved, or confirmed to be where the chain ends. */
  progressed(cursor: Block, blocks: Block[] = []): void {
    this.cursor = cursor;
    this.progressAt = this.now();
    this.outOfReach = this.doubted = false;
    this.observe(blocks);
  }

  /** A reorganisation was followed: what was the best head is no longer on the chain. */
  rewound(cursor: Block, head: number): void {
    this.best = Math.max(head, cursor.number);
    this.bestAt = this.now();
    this.times = [];
    this.progressed(cursor);
  }

  cutOff(): void {
    this.outOfReach = true;
  }

  /** What the endpoints say cannot be all there is: the ledger may lack events. */
  doubt(): void {
    this.doubted = true;
  }

  halt(): void {
    this.halted = true;
  }

  get state(): CursorState {
    if (this.halted) return 'halted';
    if (!this.cursor || this.outOfReach || this.now() - this.progressAt > STALL_MS) return 'disconnected';
    const behind = this.best - this.cursor.number > SYNCED_WITHIN;
    return behind || this.doubted || this.headAge > this.headAgeLimit ? 'syncing' : 'synced';
  }

  /** Seconds since the last block read. */
  get headAge(): number {
    return this.cursor ? Math.max(0, this.now() / 1000 - this.cursor.time) : 0;
  }

  /** Seconds after which the node, not the chain, is taken to stand still. */
  get headAgeLimit(): number {
    if (this.maxHeadAge !== undefined) return this.maxHeadAge || Infinity;
    if (this.chainId === undefined || DEVELOPMENT_CHAINS.has(this.chainId)) return Infinity;
    const intervals = this.times.slice(1).map((time, i) => time - this.times[i]);
    if (intervals.length < MIN_INTERVALS) return Infinity;
    const median = intervals.sort((a, b) => a - b)[Math.floor(intervals.length / 2)];
    return Math.max(MIN_HEAD_AGE_S, LATE_INTERVALS * median);
  }

  /** Only blocks that follow one another tell the pace; the last of a long range starts a new series. */
  private observe(blocks: Block[]): void {
    if (blocks.length === 0) return;
    this.times = [...this.times, ...blocks.map(({ time }) => time)].slice(-TIMES_KEPT);
  }
}
