import { Injectable } from '@nestjs/common';
import {
  ExpiredRows,
  type ExpiryParameters,
  type ExpiryResult,
  removeExpired,
} from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';

export const REMOVE_EXPIRED_ANSWERS = statement<ExpiryParameters, ExpiryResult>(
  'remove_expired_answers',
  { after: 'timestamptz', batch: 'integer' },
  removeExpired('idempotency_keys', 'created_at', `now() - interval '24 hours'`),
);

/** Has stored answers to requests with an Idempotency-Key removed once nobody can ask for them any more. */
@Injectable()
export class ExpiredAnswers {
  constructor(expired: ExpiredRows) {
    expired.register('idempotency_keys', REMOVE_EXPIRED_ANSWERS);
  }
}
