import { type ExpiryParameters, type ExpiryResult, removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';

/** A trigger refuses to remove younger ones. */
export const REMOVE_OLD_RECORDS = statement<ExpiryParameters, ExpiryResult>(
  'remove_old_operator_records',
  { after: 'timestamptz', batch: 'integer' },
  removeExpired('operator_records', 'begun_at', `now() - interval '3 years'`),
);
