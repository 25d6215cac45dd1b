import { Injectable, Logger } from '@nestjs/common';
import { DatabaseError } from 'pg';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { SequenceCheck } from '#indexer/agreement/sequence-check';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { EventWriter } from '#indexer/ledger/event-writer';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { Block } from '#indexer/reading/raw-chain';
import { RetryableChainError } from '#indexer/reading/rpc';
import { ForkDetected, NodeBehind, WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import type { Source } from '#indexer/reading/source';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';

/** Whether it may pass by itself: trouble with the node, or for example a deadlock with a request. */
export const mayPass = (error: unknown): error is Error =>
  error instanceof RetryableChainError ||
  (error instanceof DatabaseError && Boolean(error.code?.startsWith('40')));

/** The operator has to decide how to go on. */
export class Halted extends Error {
  /** @param ours hash of our block: the halt ends when the node has it again; undefined: it does not end by itself */
  constructor(
    message: string,
    readonly ours?: string,
  ) {
    super(message);
  }
}

/**
 * Undoes blocks. The indexer does so by itself only on evidence, and only for the last 64 blocks. Evidence is a
 * competing block that links to the last block of both chains. Something missing from an answer is never
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
   * A head that is not above the cursor may be of another branch. Only a block in place of ours proves that: without
   * one, the node is just behind. @throws ForkDetected
   */
  async requireSameBranch(writer: EventWriter, cursor: ChainCursor, head: Block): Promise<void> {
    if (head.number > cursor.number) return;
    const ours =
      head.number === cursor.number
        ? cursor
        : (await writer.window()).find(({ number }) => number === head.number);
    if (ours?.hash !== head.hash) throw new ForkDetected(`the node has another block ${head.number}`);
  }

  /**
   * Follows a reorganisation by going back to the newest block of both chains.
   * @throws NodeBehind when there is no competing block, Halted when it is deeper than the window
   */
  async followFork(writer: EventWriter, cursor: ChainCursor, reader: WatchedEndpoint): Promise<ChainCursor> {
    const window = await writer.window();
    const headers = await reader.source.blocks(window.map(({ number }) => number));
    const common = window.findIndex(({ hash }, i) => headers[i]?.hash === hash);
    const ancestor = common < 0 ? undefined : window[common];
    const competing = headers[(ancestor ? common : window.length) - 1];
    if (!competing) throw new NodeBehind('the endpoint has no block in place of ours');
    const adjacent = ancestor && competing.number === ancestor.number + 1;
    if (adjacent && competing.parentHash !== ancestor.hash) throw new NodeBehind('the headers do not link');
    await this.endpoints.confirmFork(reader, competing);
    if (!ancestor || ancestor.number < cursor.number - WINDOW_BLOCKS) {
      const how = ancestor ? `changed deeper than ${WINDOW_BLOCKS} blocks` : 'is another one';
      throw new Halted(`the chain ${how}. Check the node, or run rewind --to N`, cursor.hash);
    }
    this.telemetry.reorgs.inc();
    this.telemetry.reorgDepth.observe(cursor.number - ancestor.number);
    return this.rewindTo(writer, cursor, ancestor);
  }

  /** Undoes everything after a block. The caller has the evidence, or an order of the operator. */
  async rewindTo(writer: EventWriter, cursor: ChainCursor, block: Block): Promise<ChainCursor> {
    const { cursor: moved, undone } = await writer.rewind(cursor, block);
    await this.sequence.load(writer);
    this.telemetry.undone.inc(undone);
    this.logger.warn(`from block ${cursor.number} back to ${block.number}: ${undone} events undone`);
    return moved;
  }

  /**
   * Reads the headers that the window lacks below the cursor, so that a reorganisation as deep as the window can be
   * followed. @throws ForkDetected when they do not link to our blocks
   */
  async fillWindow(writer: EventWriter, cursor: ChainCursor, source: Source): Promise<Block[]> {
    const known = linkedWindow(await writer.window(), cursor);
    const lowest = known.at(-1);
    const wanted = Math.max(cursor.number - WINDOW_BLOCKS, 0);
    if (!lowest || lowest.number <= wanted) return known;
    const numbers = Array.from({ length: lowest.number - wanted }, (_, i) => lowest.number - 1 - i);
    const found: Block[] = [];
    for (const header of await source.blocks(numbers)) {
      if (!header) throw new NodeBehind('the node lacks a header below the cursor');
      if (header.hash !== (found.at(-1) ?? lowest).parentHash)
        throw new ForkDetected(`a competing block ${header.number} was seen below the cursor`);
      found.push(header);
    }
    await writer.fillWindow(cursor, [...found].reverse());
    return [...known, ...found];
  }
}

/** Blocks from the cursor downwards, newest first, up to the first one that is not the parent of the one before. */
function linkedWindow(window: Block[], cursor: ChainCursor): Block[] {
  const linked: Block[] = [];
  for (const block of window) {
    const wanted = linked.length === 0 ? cursor.hash : linked.at(-1)!.parentHash;
    if (block.hash !== wanted) break;
    linked.push(block);
  }
  return linked;
}
