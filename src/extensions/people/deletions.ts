import type { ExpiryParameters, ExpiryResult } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';

/** Ends an account. `stays`: whether rows of the ledger keep naming its address as an owner's. */
export const DELETE_ACCOUNT = statement<{ address: string }, { stays: boolean }>(
  'delete_account',
  { address: 'text' },
  'SELECT delete_account(:address) AS stays',
  { chargedTo: 'address' },
);

/**
 * A small step of one of the deletions that are not complete, whichever process received the request. A step is few
 * pools, because anything that makes a pool meanwhile waits for its totals. The row of a deletion has its position.
 */
export const GO_ON_DELETING = statement<ExpiryParameters, ExpiryResult>(
  'go_on_deleting',
  { after: 'text', batch: 'integer' },
  'SELECT done AS removed, :after AS reached, done > 0 AS more FROM go_on_deleting(500, :batch) AS done',
);

export const STEP = { after: null, batch: 20 };
