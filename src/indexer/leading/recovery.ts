import { Injectable, Logger } from '@nestjs/common';
import { DatabaseError } from 'pg';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { SequenceCheck } from '#indexer/agreement/sequence-check';
import { keptFrom, undoneFrom } from '#indexer/reading/finality';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { EventWriter } from '#indexer/ledger/event-writer';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { Block } from '#indexer/reading/raw-chain';
import { RetryableChainError } from '#indexer/reading/rpc';
import { ForkDetected, NodeBehind, WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import type { Source } from '#indexer/reading/source';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';

/** Headers that are compared at a time. */
const COMPARED = 64;

/** Whether it may pass by itself: trouble with the node, or for example a deadlock with a request. */
export const mayPass = (error: unknown): error is Error =>
  error instanceof RetryableChainError ||
  (error instanceof DatabaseError && Boolean(error.code?.startsWith('40')));

/** The operator has to decide how to go on. */
export class Halted extends Error {
  /** @param ours hash of our block: the halt ends when the node has it again */
  constructor(
    message: string,
    readonly ours: string,
  ) {
    super(message);
  }
}

/**
 * Undoes blocks. The indexer does so by itself only on evidence, and only for blocks that are not final; where nobody
 * says which are, for the last 64 blocks. Evidence is a competing block that links to the last block of both chains. Something missing from an answer is never
 * evidence: the node may leave out events or be behind, so the indexer waits. A deeper reorganisation halts it until
 * the operator runs `rewind --to`.
 */
@Injectable()
export class Recovery {
  private readonly logger = new Logger(Recovery.name);

  constructor(
    private readonly endpoints: RpcEndpoints,
    private readonly sequence: SequenceCheck,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  /**
   * Reads the headers that are missing below the cursor: it began near the head, or was taken back.
   * @returns the last headers, newest first; fewer, and a line in the log, if the node lacks them or has others
   */
  async fillWindow(writer: EventWriter, cursor: ChainCursor): Promise<Block[]> {
    const kept = await writer.blocks.newest(Number.MAX_SAFE_INTEGER);
    const end = kept.findIndex(({ hash }, i) => hash !== (i === 0 ? cursor.hash : kept[i - 1].parentHash));
    const known = end < 0 ? kept : kept.slice(0, end);
    const lowest = Math.max(keptFrom(cursor.number, cursor.finalized), 0);
    try {
      for (let above = known.at(-1); above && above.number > lowest; above = known.at(-1)) {
        const found = await this.readBelow(above, Math.max(lowest, above.number - WINDOW_BLOCKS));
        await writer.fillWindow(cursor, found);
        known.push(...found);
      }
    } catch (error) {
      // If the cause is a fork, or a node that is behind, the next steps handle it.
      if (!(error instanceof RetryableChainError)) throw error;
      this.logger.warn(`headers below block ${cursor.number} are not complete: ${error.message}`);
    }
    return known.slice(0, WINDOW_BLOCKS + 1);
  }

  /** The headers from the parent of a block down to another one. @throws RetryableChainError */
  private async readBelow(block: Block, to: number): Promise<Block[]> {
    const numbers = Array.from({ length: block.number - to }, (_, i) => block.number - 1 - i);
    const headers = await this.endpoints.blocks(numbers);
    return headers.map((header, i) => {
      if (!header) throw new NodeBehind(`the node lacks block ${numbers[i]}`);
      if (header.hash !== (headers[i - 1] ?? block).parentHash)
        throw new ForkDetected(`a competing block ${numbers[i]} was seen below the cursor`);
      return header;
    });
  }

  /**
   * A head that is not above the cursor may be of another branch. Only a block in place of ours proves that: without
   * one, the node is just behind. @throws ForkDetected
   */
  async requireSameBranch(writer: EventWriter, cursor: ChainCursor, head: Block): Promise<void> {
    if (head.number > cursor.number) return;
    const ours = head.number === cursor.number ? cursor.hash : await writer.blocks.hashAt(head.number);
    if (ours !== head.hash) throw new ForkDetected(`the node has another block ${head.number}`);
  }

  /**
   * Follows a reorganisation by going back to the newest block of both chains.
   * @throws NodeBehind when there is no competing block, Halted when it is deeper than the window
   */
  async followFork(writer: EventWriter, cursor: ChainCursor, reader: WatchedEndpoint): Promise<ChainCursor> {
    const { ancestor, competing } = await this.findAncestor(writer, reader.source);
    if (!competing) throw new NodeBehind('the endpoint has no block in place of ours');
    const adjacent = ancestor && competing.number === ancestor.number + 1;
    if (adjacent && competing.parentHash !== ancestor.hash) throw new NodeBehind('the headers do not link');
    await this.endpoints.confirmFork(reader, competing);
    const { number, finalized } = cursor;
    const lowest = undoneFrom(number, finalized);
    if (!ancestor || ancestor.number < lowest) {
      const depth =
        lowest === finalized ? `below final block ${lowest}` : `deeper than ${number - lowest} blocks`;
      const how = ancestor ? `changed ${depth}` : 'is another one';
      throw new Halted(`the chain ${how}. Check the node, or run rewind --to N`, cursor.hash);
    }
    this.telemetry.reorgs.inc();
    this.telemetry.reorgDepth.observe(cursor.number - ancestor.number);
    return (await this.rewindTo(writer, cursor, ancestor)).cursor;
  }

  /** Finds the latest block that both chains have, and the node's block above it. */
  private async findAncestor(
    writer: EventWriter,
    source: Source,
  ): Promise<{ ancestor?: Block; competing?: Block }> {
    let competing: Block | undefined;
    let below: number | undefined;
    for (;;) {
      const ours = await writer.blocks.newest(COMPARED, below);
      if (ours.length === 0) return { competing };
      const headers = await source.blocks(ours.map(({ number }) => number));
      const common = ours.findIndex(({ hash }, i) => headers[i]?.hash === hash);
      if (common >= 0)
        return { ancestor: ours[common], competing: common > 0 ? headers[common - 1] : competing };
      competing = headers.at(-1);
      below = ours.at(-1)!.number;
    }
  }

  /** Undoes everything after a block. The caller has the evidence, or an order of the operator. */
  async rewindTo(
    writer: EventWriter,
    cursor: ChainCursor,
    block: Block,
  ): Promise<{ cursor: ChainCursor; undone: number }> {
    const { cursor: moved, undone } = await writer.rewind(cursor, block);
    await this.sequence.load(writer);
    this.telemetry.undone.inc(undone);
    this.logger.warn(`from block ${cursor.number} back to ${block.number}: ${undone} events undone`);
    return { cursor: moved, undone };
  }
}
