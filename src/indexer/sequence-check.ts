import type { LastEvent, EventWriter } from './event-writer';
import { RetryableChainError } from './rpc';
import { type Batch, NodeBehind } from './source';

/** A contract's own count shows that the node left out events after `seq`. */
export class SequenceGap extends RetryableChainError {
  constructor(
    readonly contract: string,
    readonly seq: number,
    found: number,
  ) {
    const hint = seq === 0 ? '; START_BLOCK must not be after the first' : '';
    super(`events of ${contract} are left out: ${found} came after ${seq}${hint}`);
  }
}

/** Each contract counts its events without gaps, which shows what a node leaves out. */
export class SequenceCheck {
  private last = new Map<string, LastEvent>();
  /** Up to this block the contracts' own counts proved that nothing is missing. */
  private proven = 0;

  constructor(
    private readonly contracts: string[],
    private readonly startBlock: number,
  ) {}

  /** Takes over what the database says; due whenever the cursor was moved other than by `advance`. */
  async load(writer: EventWriter): Promise<void> {
    this.last = await writer.lastEvents(this.contracts);
    this.proven = await writer.provenBlock();
  }

  /** @throws SequenceGap, NodeBehind: before anything of the batch is applied */
  check({ events, counts }: Pick<Batch, 'events' | 'counts'>): void {
    const last = this.after(events);
    this.contracts.forEach((contract, i) => {
      const before = last.get(contract)!;
      const count = counts[i];
      if (typeof count !== 'number') return;
      // Events left out at the end of the range have no later one that would show it.
      if (count > before) throw new SequenceGap(contract, before, count);
      if (count < before) throw new NodeBehind(`${contract} counts ${count} events of ${before}`);
    });
  }

  /** Number of each contract's last event after these. */
  private after(events: Batch['events']): Map<string, number> {
    const last = new Map(this.contracts.map((contract) => [contract, this.lastOf(contract).seq]));
    for (const { contract, seq } of events) {
      const before = last.get(contract)!;
      if (seq > before + 1) throw new SequenceGap(contract, before, seq);
      if (seq <= before) throw new NodeBehind(`event ${seq} of ${contract} came again`);
      last.set(contract, seq);
    }
    return last;
  }

  /** Whether the batch, once checked, proves that nothing is missing up to its end. */
  proves({ events, counts }: Pick<Batch, 'events' | 'counts'>): boolean {
    const last = this.after(events);
    // A contract that does not count proves something only while it has no events.
    return this.contracts.every((contract, i) =>
      counts[i] === null ? last.get(contract) === 0 : counts[i] !== undefined,
    );
  }

  /** To be called when the batch has been applied. */
  advance({ events, to }: Batch, proven: boolean): void {
    for (const { contract, seq, blockNumber: block } of events) this.last.set(contract, { seq, block });
    if (proven) this.proven = to.number;
  }

  /**
   * Where the event that a gap lacks may be, if the ledger and not the node lacks it: behind the last block proven
   * complete. The block of the last known event may have held more.
   */
  unproven({ contract, seq }: SequenceGap): { from: number; seq: number } | undefined {
    const last = this.lastOf(contract);
    if (seq !== last.seq) return undefined;
    return { from: Math.max(this.proven + 1, last.block), seq: seq + 1 };
  }

  private lastOf(contract: string): LastEvent {
    return this.last.get(contract) ?? { seq: 0, block: this.startBlock };
  }
}
