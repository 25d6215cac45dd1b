import { statement } from '#platform/postgres/statement';

/** Ends an account. `stays`: whether rows of the ledger keep naming its address as an owner's. */
export const DELETE_ACCOUNT = statement<{ address: string }, { stays: boolean }>(
  'delete_account',
  { address: 'text' },
  'SELECT delete_account(:address) AS stays',
  { chargedTo: 'address' },
);

/**
 * A small step of one of the deletions that are not complete; 0 when none is left. A step is few pools, because anything that
 * makes a pool meanwhile waits for its totals.
 */
export const GO_ON_DELETING = statement<{ answers: number; memberships: number }, { done: number }>(
  'go_on_deleting',
  { answers: 'integer', memberships: 'integer' },
  'SELECT go_on_deleting(:answers, :memberships) AS done',
);

export const STEP = { answers: 500, memberships: 20 };
