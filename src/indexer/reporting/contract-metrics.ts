import { Gauge, type Registry } from 'prom-client';

const STATES = ['following', 'catching_up', 'quarantined'] as const;

/** Where a contract stands. */
export interface ContractStanding {
  address: string;
  state: (typeof STATES)[number];
  /** The last block that was read for it, and why it is read apart. Undefined while it is followed. */
  block?: number;
  reason?: string;
}

/** Gauges of each contract, computed at each scrape. */
export function registerContractMetrics(
  registry: Registry,
  standings: () => ContractStanding[],
  cursor: () => number,
): void {
  const state: Gauge = new Gauge({
    name: 'indexer_contract_state',
    help: '1 for the current state of each contract',
    labelNames: ['contract', 'state'],
    registers: [registry],
    collect: () => {
      for (const { address: contract, state: current } of standings())
        for (const each of STATES) state.set({ contract, state: each }, Number(each === current));
    },
  });
  const lag: Gauge = new Gauge({
    name: 'indexer_contract_lag_blocks',
    help: 'Blocks between the last one read for a contract and the cursor',
    labelNames: ['contract'],
    registers: [registry],
    collect: () => {
      for (const { address: contract, block } of standings())
        lag.set({ contract }, block === undefined ? 0 : Math.max(0, cursor() - block));
    },
  });
}
