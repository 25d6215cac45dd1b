import { removeExpired } from '#platform/database/expired-rows';

/** A trigger refuses to remove younger ones. */
export const REMOVE_OLD_RECORDS = removeExpired('operator_records', 'begun_at', `now() - interval '3 years'`);
