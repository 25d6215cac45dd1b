import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of the continuous verification. */
export class VerifyMetrics {
  private readonly differences: Gauge;
  private readonly pools: Counter;

  constructor(registry: Registry) {
    this.differences = new Gauge({
      name: 'indexer_verify_differences',
      help: 'Pools and addresses that differ from ledger or chain, by kind, as of when each was last looked at',
      labelNames: ['kind'],
      registers: [registry],
    });
    this.pools = new Counter({
      name: 'indexer_verified_pools_total',
      help: 'Pools compared with ledger and chain',
      registers: [registry],
    });
  }

  /** @param differences number of pools and addresses that differ, by kind */
  show(differences: Map<string, number>): void {
    this.differences.reset();
    for (const [kind, count] of differences) this.differences.set({ kind }, count);
  }

  verified(pools: number): void {
    this.pools.inc(pools);
  }
}
