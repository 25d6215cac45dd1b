import { Gauge, type Registry } from 'prom-client';

const STATES = ['following', 'catching_up', 'quarantined', 'missing'] as const;

/** How it is known that no event of a contract is missing, as of the last batch. */
export const WAYS = ['numbers', 'receipts', 'agreement'] as const;
export type Way = (typeof WAYS)[number];

/** Where a contract stands. */
export interface ContractStanding {
  address: string;
  state: (typeof STATES)[number];
  /** The last block that was read for it, and why it is read apart. Undefined while it is followed. */
  block?: number;
  reason?: string;
  /** Undefined before the first batch. */
  completeness?: Way;
  /** Why nothing but the agreement of endpoints says that no event is missing. */
  unproven?: string;
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
  const completeness: Gauge = new Gauge({
    name: 'indexer_contract_completeness',
    help: '1 for how it is known that no event of a contract is missing, as of the last blocks read',
    labelNames: ['contract', 'by'],
    registers: [registry],
    collect: () => {
      for (const { address: contract, completeness: current } of standings())
        for (const by of WAYS) completeness.set({ contract, by }, Number(by === current));
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
