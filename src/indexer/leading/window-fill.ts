import { Injectable, Logger } from '@nestjs/common';
import { keptFrom } from '#indexer/blocks/finality';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { EventWriter } from '#indexer/ledger/event-writer';
import { type BlockBatch, ForkDetected, WINDOW_BLOCKS, lacking } from '#indexer/reading/block-batch';
import type { Block } from '#indexer/reading/raw-chain';
import { RetryableChainError } from '#indexer/reading/rpc';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import type { Turn } from '#indexer/requests/budget';

/** Headers that are read at a time. */
const PART = WINDOW_BLOCKS;
/** Wait after headers could not be read. */
const WAIT_MS = 5_000;
/** So many headers are known to whoever asks how fast the chain goes. */
const RECENT = WINDOW_BLOCKS + 1;

/** Headers behind a block that were read beside the loop; undefined while they are under way. */
interface Part {
  behind: Block;
  headers?: Block[];
}

/**
 * Reads the headers that are missing below the cursor, so that a reorganisation can be followed down to the last final
 * block. The last 64 are read at once, as before; those below part by part beside the loop, which never waits for them.
 */
@Injectable()
export class WindowFill {
  private readonly logger = new Logger(WindowFill.name);
  /** From the cursor down to this block, the headers are kept. */
  private lowest?: Block;
  private part?: Part;
  private waitUntil = 0;

  constructor(private readonly endpoints: RpcEndpoints) {}

  /**
   * Starts from what is kept, and reads what the last 64 lack.
   * @returns the last headers, newest first; fewer, and a line for the log, if the node lacks them or has others
   */
  async open(writer: EventWriter, cursor: ChainCursor): Promise<Block[]> {
    this.part = undefined;
    this.waitUntil = 0;
    const known = linked(await writer.blocks.newest(Number.MAX_SAFE_INTEGER), cursor);
    this.lowest = known.at(-1);
    try {
      const found = await this.read(known.at(-1), cursor.number - WINDOW_BLOCKS, 'reading');
      await this.store(writer, cursor, found);
      return [...known, ...found].slice(0, RECENT);
    } catch (error) {
      // If the cause is a fork, or a node that is behind, the next steps handle it.
      if (!(error instanceof RetryableChainError)) throw error;
      this.logger.warn(`headers below block ${cursor.number} are not complete: ${error.message}`);
      return known.slice(0, RECENT);
    }
  }

  /** Call after each batch. One that leaves out headers begins anew. */
  moved({ blocks, to }: BlockBatch, before: Block): void {
    if (blocks.length > 0 && blocks[0].number !== before.number + 1) this.lowest = to;
  }

  /** Stores what has been read, and reads on. Call near the head only. @throws LeadershipLost */
  async turn(writer: EventWriter, cursor: ChainCursor): Promise<void> {
    const { part } = this;
    if (part && !part.headers) return;
    this.part = undefined;
    // A reorganisation may have begun the window anew.
    if (part && part.behind === this.lowest) await this.store(writer, cursor, part.headers!);
    const { lowest } = this;
    const wanted = Math.max(keptFrom(cursor.number, cursor.finalized), 0);
    if (!lowest || lowest.number <= wanted || performance.now() < this.waitUntil) return;
    const next: Part = { behind: lowest };
    this.part = next;
    const from = Math.max(wanted, lowest.number - PART);
    this.read(lowest, from, 'other').then(
      (headers) => (next.headers = headers),
      (error: Error) => {
        this.waitUntil = performance.now() + WAIT_MS;
        this.logger.debug(`headers below block ${lowest.number} could not be read: ${error.message}`);
        next.headers = [];
      },
    );
  }

  private async store(writer: EventWriter, cursor: ChainCursor, found: Block[]): Promise<void> {
    if (found.length === 0) return;
    await writer.fillWindow(cursor, found);
    this.lowest = found.at(-1);
  }

  /** Headers behind a block, newest first, down to another one. @throws RetryableChainError */
  private async read(behind: Block | undefined, to: number, turn: Turn): Promise<Block[]> {
    const wanted = Math.max(to, 0);
    if (!behind || behind.number <= wanted) return [];
    const numbers = Array.from({ length: behind.number - wanted }, (_, i) => behind.number - 1 - i);
    const found: Block[] = [];
    const headers = await this.endpoints.blocks(numbers, turn);
    for (const [i, header] of headers.entries()) {
      if (!header) throw lacking(numbers[i], headers.slice(i).find(Boolean), found.at(-1) ?? behind);
      if (header.hash !== (found.at(-1) ?? behind).parentHash)
        throw new ForkDetected(`a competing block ${numbers[i]} was seen below the cursor`);
      found.push(header);
    }
    return found;
  }
}

/** Blocks from the cursor downwards, newest first, up to the first one that is not the parent of the one before. */
function linked(kept: Block[], cursor: ChainCursor): Block[] {
  const end = kept.findIndex(({ hash }, i) => hash !== (i === 0 ? cursor.hash : kept[i - 1].parentHash));
  return end < 0 ? kept : kept.slice(0, end);
}
