import type { Ledger } from './ledger';
import { ChainTrouble } from './rpc';
import { type Batch, NotThere, type Source } from './source';

/** A contract's numbering shows that the node left out events after `seq`. */
export class Gap extends ChainTrouble {
  constructor(
    readonly contract: string,
    readonly seq: number,
    found: number,
  ) {
    super(`the node leaves out events: of ${contract} it told ${seq}, and then ${found}`);
  }
}

/** Each contract counts its events without gaps, which shows what a node leaves out. */
export class Numbering {
  private last = new Map<string, number>();
  /** Up to this block the contracts' own counts showed that nothing is missing. */
  private complete = -1;

  constructor(
    private readonly source: Source,
    private readonly startBlock: number,
  ) {}

  /** A contract without events yet began at its count before the start; unknown where the node keeps no old state. */
  async load(ledger: Ledger): Promise<void> {
    this.last = await ledger.lastSeqs(this.source.contracts);
    if (this.last.size === this.source.contracts.length) return;
    const before = this.startBlock > 0 ? await this.source.counts(this.startBlock - 1) : [];
    this.source.contracts.forEach((contract, i) => {
      const seq = this.startBlock > 0 ? before[i] : 0;
      if (seq !== undefined && !this.last.has(contract)) this.last.set(contract, seq ?? 0);
    });
  }

  /** @throws Gap, before anything of the batch is applied */
  check({ events, counts }: Batch): void {
    const last = new Map(this.last);
    for (const { contract, seq } of events) {
      const before = last.get(contract) ?? seq - 1;
      if (seq > before + 1) throw new Gap(contract, before, seq);
      if (seq <= before) throw new NotThere(`event ${seq} of ${contract} came again`);
      last.set(contract, seq);
    }
    // Events left out at the end of the range have no later one that would show it.
    this.source.contracts.forEach((contract, i) => {
      const seq = last.get(contract);
      const count = counts[i] ?? 0;
      if (seq !== undefined && count > seq) throw new Gap(contract, seq, count);
    });
  }

  /** To be called when the batch has been applied. */
  advance({ events, counts, to }: Batch): void {
    this.source.contracts.forEach((contract, i) => {
      if (counts[i] != null && !this.last.has(contract)) this.last.set(contract, counts[i]);
    });
    for (const { contract, seq } of events) this.last.set(contract, seq);
    if (!counts.includes(undefined)) this.complete = to.number;
  }

  /**
   * After a gap: the last block that surely lacks no event. The block of the last event that is known is not, as it
   * may have held more; those of the batch that showed the gap are not applied anyway.
   */
  async completeUpTo(ledger: Ledger, { contract, seq }: Gap): Promise<number> {
    if (seq !== this.last.get(contract)) return Infinity;
    const block = (await ledger.lastEventBlock(contract)) ?? this.startBlock;
    return Math.max(this.complete, block - 1, 0);
  }

  rewound(to: number): void {
    this.complete = Math.min(this.complete, to);
  }
}
