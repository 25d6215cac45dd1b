import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of the continuous verification. */
export class VerifyMetrics {
  private readonly differences: Gauge;
  private readonly pools: Counter;
  private readonly share: Gauge;
  private readonly whole: Gauge;

  constructor(registry: Registry) {
    this.differences = new Gauge({
      name: 'indexer_verify_differences',
      help: 'Parts of the data that differ from ledger or chain, by kind, as of when each was last compared',
      labelNames: ['kind'],
      registers: [registry],
    });
    this.pools = new Counter({
      name: 'indexer_verified_pools_total',
      help: 'Pools compared with the ledger',
      registers: [registry],
    });
    this.share = new Gauge({
      name: 'indexer_verify_covered_ratio',
      help: 'Share of the whole that the pass under way has gone over, by what it goes over',
      labelNames: ['what'],
      registers: [registry],
    });
    this.whole = new Gauge({
      name: 'indexer_verify_whole_timestamp_seconds',
      help: 'When the last pass came to its end; 0: not yet',
      labelNames: ['what'],
      registers: [registry],
    });
  }

  /** @param differing kinds of the differences, each as often as something differs so */
  show(differing: string[]): void {
    this.differences.reset();
    for (const kind of differing) this.differences.inc({ kind });
  }

  /** Another process tells from now on. */
  forget(): void {
    for (const each of [this.differences, this.share, this.whole]) each.reset();
  }

  verified(pools: number): void {
    this.pools.inc(pools);
  }

  covered(what: string, share: number, wholeAt: number): void {
    this.share.set({ what }, share);
    this.whole.set({ what }, wholeAt);
  }
}
