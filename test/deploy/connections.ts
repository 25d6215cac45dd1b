/** An indexer that leads: its lead, verification, submissions, receipts, prices and facts. Each other has one. */
const LEADING = 6;

/** The most connections of APIs and indexers during a rollout, which starts one more of each. */
export const connectionsOf = (poolSize: number, replicas: number, indexers: number): number =>
  (poolSize + 1) * (replicas + 1) + LEADING + indexers;
