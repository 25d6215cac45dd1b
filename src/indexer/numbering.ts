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
    const hint = seq === 0 ? '; START_BLOCK must not be after the first' : '';
    super(`events of ${contract} are left out: ${found} came after ${seq}${hint}`);
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

  async load(ledger: Ledger): Promise<void> {
    this.last = await ledger.lastSeqs(this.source.contracts);
  }

  /** @throws Gap, before anything of the batch is applied */
  check({ events, counts }: Batch): void {
    const last = new Map(this.last);
    for (const { contract, seq } of events) {
      const before = last.get(contract) ?? 0;
      if (seq > before + 1) throw new Gap(contract, before, seq);
      if (seq <= before) throw new NotThere(`event ${seq} of ${contract} came again`);
      last.set(contract, seq);
    }
    // Events left out at the end of the range have no later one that would show it.
    this.source.contracts.forEach((contract, i) => {
      const before = last.get(contract) ?? 0;
      const count = counts[i] ?? 0;
      if (count > before) throw new Gap(contract, before, count);
    });
  }

  /** To be called when the batch has been applied. */
  advance({ events, counts, to }: Batch): void {
    for (const { contract, seq } of events) this.last.set(contract, seq);
    if (!counts.includes(undefined)) this.complete = to.number;
  }

  /**
   * After a gap: the last block that surely lacks no event. The block of the last event that is known is not, as it
   * may have held more; those of the batch that showed the gap are not applied anyway.
   */
  async completeUpTo(ledger: Ledger, { contract, seq }: Gap): Promise<number> {
    if (seq !== (this.last.get(contract) ?? 0)) return Infinity;
    const block = (await ledger.lastEventBlock(contract)) ?? this.startBlock;
    return Math.max(this.complete, block - 1, 0);
  }

  rewound(to: number): void {
    this.complete = Math.min(this.complete, to);
  }
}
