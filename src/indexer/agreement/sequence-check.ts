import type { StartBlocks } from '#settings/start-blocks';
import type { LastEvent, EventWriter } from '#indexer/ledger/event-writer';
import { type BlockBatch, NodeBehind, WrongEvents } from '#indexer/reading/block-batch';

/** The contract's event numbers show that events after `seq` are missing. */
export class SequenceGap extends WrongEvents {
  constructor(contract: string, seq: number, found: number) {
    const hint = seq === 0 ? '; START_BLOCK must not be after the first' : '';
    super(contract, `events of ${contract} are left out: ${found} came after ${seq}${hint}`);
  }
}

/** The contract's event numbers show fewer events than the ledger has. */
export class SequenceFall extends NodeBehind {
  constructor(
    readonly contract: string,
    message: string,
  ) {
    super(message);
  }
}

type Numbered = Pick<BlockBatch, 'events' | 'contracts' | 'counts'>;

/** Finds events that a node leaves out: each contract numbers its events without gaps. */
export class SequenceCheck {
  private last = new Map<string, LastEvent>();
  /** Up to this block, the contracts' counts prove that no event is missing. */
  private proven = 0;

  constructor(
    private readonly contracts: string[],
    private readonly startBlocks: Pick<StartBlocks, 'of'>,
    /** Whether a contract numbers its events. The events of others have numbers that rise, with gaps. */
    private readonly isNumbered: (contract: string) => boolean = () => true,
  ) {}

  /** Reads the state from the database. Needed whenever the cursor was moved other than by `advance`. */
  async load(writer: EventWriter): Promise<void> {
    this.last = await writer.lastEvents(this.contracts);
    this.proven = await writer.provenBlock();
  }

  /**
   * Call before the batch is applied.
   * @returns whether it proves that no event is missing up to its end
   * @throws SequenceGap, SequenceFall
   */
  check({ events, contracts, counts }: Numbered): boolean {
    const last = this.after(events);
    const proves = contracts.map((contract, i) => {
      const before = last.get(contract)!;
      const count = counts[i];
      // A contract without a count proves nothing once it has events.
      if (count === null || !this.isNumbered(contract)) return before === 0;
      if (count === undefined) return false;
      // No later event shows that events are missing at the end of the range, but the count does.
      if (count > before) throw new SequenceGap(contract, before, count);
      if (count < before)
        throw new SequenceFall(
          contract,
          `${contract} has ${count} events at the node, but ${before} were read`,
        );
      return true;
    });
    return proves.every(Boolean);
  }

  /** The number of each contract's last event, including these. */
  private after(events: BlockBatch['events']): Map<string, number> {
    const last = new Map(this.contracts.map((contract) => [contract, this.lastOf(contract).seq]));
    for (const { contract, seq, blockNumber, logIndex } of events) {
      const before = last.get(contract)!;
      if (seq > before + 1 && this.isNumbered(contract)) throw new SequenceGap(contract, before, seq);
      if (seq <= before)
        throw new SequenceFall(contract, `log ${logIndex} of block ${blockNumber} of ${contract} came again`);
      last.set(contract, seq);
    }
    return last;
  }

  /** Whether the contracts' counts prove that no event is missing up to this block. */
  isProven(block: number): boolean {
    return this.proven >= block;
  }

  /** Call when the batch has been applied. */
  advance({ events, to }: BlockBatch, proven: boolean): void {
    for (const { contract, seq, blockNumber: block } of events) this.last.set(contract, { seq, block });
    if (proven) this.proven = to.number;
  }

  /** The contract's last event that is in the ledger; before its first one, number 0. */
  lastOf(contract: string): LastEvent {
    return this.last.get(contract) ?? { seq: 0, block: this.startBlocks.of(contract) };
  }
}

/** Whether a batch leaves out events by its own numbers and counts. */
export function hasGap(sequence: SequenceCheck, batch: Numbered): boolean {
  try {
    sequence.check(batch);
    return false;
  } catch (error) {
    return error instanceof SequenceGap;
  }
}
