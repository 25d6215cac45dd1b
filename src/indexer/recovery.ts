import { Injectable, Logger } from '@nestjs/common';
import type { Endpoint } from './endpoint';
import { EndpointPool } from './endpoint-pool';
import type { Cursor, EventWriter } from './event-writer';
import type { Block } from './raw-chain';
import { SequenceCheck, type SequenceGap } from './sequence-check';
import { ForkDetected, NodeBehind, type Source, WINDOW } from './source';
import { IndexerTelemetry } from './telemetry';

/** Only a person can decide how to go on. */
export class Halted extends Error {
  /** @param ours hash of our block which, should the node show it again, ends the halt; undefined: nothing does */
  constructor(
    message: string,
    readonly ours?: string,
  ) {
    super(message);
  }
}

/**
 * Takes blocks back. The rule: by itself the indexer undoes a block only on evidence, and at most the last 64. Evidence
 * is a competing block that was seen in its place, linked to the last block that both chains have, or the very event
 * that the ledger lacks, found in a block of ours that the contracts' counts had not yet proven complete. What is
 * missing from an answer is never evidence: a node that leaves out events or is behind is waited for. Anything deeper
 * halts, and is taken back by `rewind --to` alone.
 */
@Injectable()
export class Recovery {
  private readonly logger = new Logger(Recovery.name);

  constructor(
    private readonly pool: EndpointPool,
    private readonly sequence: SequenceCheck,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  /**
   * Follows a reorganisation: back to the newest block that both chains have.
   * @throws NodeBehind when no competing block is seen, Halted when it is deeper than the window
   */
  async followFork(writer: EventWriter, cursor: Cursor, reader: Endpoint): Promise<Cursor> {
    const window = await writer.window();
    const headers = await reader.source.blocks(window.map(({ number }) => number));
    const common = window.findIndex(({ hash }, i) => headers[i]?.hash === hash);
    const ancestor = common < 0 ? undefined : window[common];
    const competing = headers[(ancestor ? common : window.length) - 1];
    if (!competing) throw new NodeBehind('the endpoint has no block in place of ours');
    const adjacent = ancestor && competing.number === ancestor.number + 1;
    if (adjacent && competing.parentHash !== ancestor.hash) throw new NodeBehind('headers do not link');
    await this.pool.confirmFork(reader, competing);
    if (!ancestor || ancestor.number < cursor.number - WINDOW) {
      const how = ancestor ? `changed deeper than ${WINDOW} blocks` : 'is another one';
      throw new Halted(`the chain ${how}. See to the node, or rewind --to N`, cursor.hash);
    }
    this.telemetry.reorgs.inc();
    this.telemetry.reorgDepth.observe(cursor.number - ancestor.number);
    return this.rewindTo(writer, cursor, ancestor);
  }

  /**
   * After a gap: either the node leaves out an event, and is asked again; or the ledger lacks it, which is believed
   * when it is found in a block that was read but not proven.
   * @returns the cursor from which to go on, the same one if nothing is to be taken back
   */
  async mendGap(writer: EventWriter, cursor: Cursor, reader: Endpoint, gap: SequenceGap): Promise<Cursor> {
    const wanted = this.sequence.unproven(gap);
    if (!wanted || wanted.from > cursor.number) {
      this.pool.contradictsItself(reader);
      return cursor;
    }
    const { seq, from } = wanted;
    const event = await reader.source.findEvent(gap.contract, seq, from, cursor.number);
    if (!event) return cursor;
    const { blockNumber: number } = event;
    if (cursor.number - number >= WINDOW)
      throw new Halted(
        `event ${seq} of ${gap.contract} in block ${number} was missed: rewind --to ${number - 1}`,
      );
    const window = await this.fillWindow(writer, cursor, reader.source);
    const before = window.find((block) => block.number === number - 1);
    if (!before || window.find((block) => block.number === number)?.hash !== event.blockHash)
      throw new NodeBehind(`event ${seq} of ${gap.contract} is of another block ${number}`);
    return this.rewindTo(writer, cursor, before);
  }

  /** Takes everything after a block back. Callers have the evidence, or a person's word. */
  async rewindTo(writer: EventWriter, cursor: Cursor, block: Block): Promise<Cursor> {
    const { cursor: moved, undone } = await writer.rewind(cursor, block);
    await this.sequence.load(writer);
    this.telemetry.undone.inc(undone);
    this.logger.warn(`from block ${cursor.number} back to ${block.number}: ${undone} events taken back`);
    return moved;
  }

  /**
   * Reads the headers that the window lacks below the cursor, so that any reorganisation as deep as the window can be
   * followed from here. @throws ForkDetected when they do not lead to our blocks
   */
  async fillWindow(writer: EventWriter, cursor: Cursor, source: Source): Promise<Block[]> {
    const known = linkedWindow(await writer.window(), cursor);
    const lowest = known.at(-1);
    const wanted = Math.max(cursor.number - WINDOW, 0);
    if (!lowest || lowest.number <= wanted) return known;
    const numbers = Array.from({ length: lowest.number - wanted }, (_, i) => lowest.number - 1 - i);
    const found: Block[] = [];
    for (const header of await source.blocks(numbers)) {
      if (!header) throw new NodeBehind('a header below the cursor');
      if (header.hash !== (found.at(-1) ?? lowest).parentHash)
        throw new ForkDetected(`block ${header.number} below the cursor`);
      found.push(header);
    }
    await writer.fillWindow(cursor, [...found].reverse());
    return [...known, ...found];
  }
}

/** Blocks from the cursor down, as long as each is the parent of the one before; newest first. */
function linkedWindow(window: Block[], cursor: Cursor): Block[] {
  const linked: Block[] = [];
  for (const block of window) {
    const wanted = linked.length === 0 ? cursor.hash : linked.at(-1)!.parentHash;
    if (block.hash !== wanted) break;
    linked.push(block);
  }
  return linked;
}
