import type { EventWriter, LastEvent } from './event-writer';
import { ChainTrouble } from './rpc';
import { type Batch, NotThere, type Source } from './source';

/** A contract's numbering shows that the node left out events after `seq`. */
export class Gap extends ChainTrouble {
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
export class Numbering {
  private last = new Map<string, LastEvent>();
  /** Up to this block the contracts' own counts showed that nothing is missing. */
  private complete = -1;

  constructor(
    private readonly source: Source,
    private readonly startBlock: number,
  ) {}

  async load(writer: EventWriter): Promise<void> {
    this.last = await writer.lastEvents(this.source.contracts);
  }

  /** @throws Gap, before anything of the batch is applied */
  check({ events, counts }: Batch): void {
    const last = new Map(this.source.contracts.map((contract) => [contract, this.lastOf(contract).seq]));
    for (const { contract, seq } of events) {
      const before = last.get(contract)!;
      if (seq > before + 1) throw new Gap(contract, before, seq);
      if (seq <= before) throw new NotThere(`event ${seq} of ${contract} came again`);
      last.set(contract, seq);
    }
    // Events left out at the end of the range have no later one that would show it.
    this.source.contracts.forEach((contract, i) => {
      const before = last.get(contract)!;
      const count = counts[i] ?? 0;
      if (count > before) throw new Gap(contract, before, count);
    });
  }

  /** To be called when the batch has been applied. */
  advance({ events, counts, to }: Batch): void {
    for (const { contract, seq, blockNumber: block } of events) this.last.set(contract, { seq, block });
    if (!counts.includes(undefined)) this.complete = to.number;
  }

  /**
   * After a gap: the last block that surely lacks no event. The block of the last event that is known is not, as it
   * may have held more; those of the batch that showed the gap are not applied anyway.
   */
  completeUpTo({ contract, seq }: Gap): number {
    const last = this.lastOf(contract);
    return seq === last.seq ? Math.max(this.complete, last.block - 1, 0) : Infinity;
  }

  private lastOf(contract: string): LastEvent {
    return this.last.get(contract) ?? { seq: 0, block: this.startBlock };
  }

  rewound(to: number): void {
    this.complete = Math.min(this.complete, to);
  }
}
