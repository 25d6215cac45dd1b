export const CONTRACT_STATES = ['following', 'catching_up', 'quarantined', 'missing'] as const;

/** How it is known that no event of a contract is missing, as of the last batch. */
export const WAYS = ['numbers', 'receipts', 'agreement'] as const;
type Way = (typeof WAYS)[number];

/** Where a contract stands. */
export interface ContractStanding {
  address: string;
  state: (typeof CONTRACT_STATES)[number];
  /** The last block that was read for it, and why it is read apart. Undefined while it is followed. */
  block?: number;
  reason?: string;
  /** Undefined before the first batch. */
  completeness?: Way;
  /** Why nothing but the agreement of endpoints says that no event is missing. */
  unproven?: string;
}
