import { Injectable } from '@nestjs/common';
import {
  ExpiredRows,
  type ExpiryParameters,
  type ExpiryResult,
  removeExpired,
} from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';

export const REMOVE_EXPIRED_NONCES = statement<ExpiryParameters, ExpiryResult>(
  'remove_expired_nonces',
  { after: 'timestamptz', batch: 'integer' },
  removeExpired('nonces', 'expires_at', 'now()'),
);

/** Has expired, unused nonces removed. */
@Injectable()
export class ExpiredNonces {
  constructor(expired: ExpiredRows) {
    expired.register('nonces', REMOVE_EXPIRED_NONCES);
  }
}
