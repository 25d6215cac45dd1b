import { Injectable } from '@nestjs/common';
import { ExpiredRows } from '#platform/database/expired-rows';
import { REMOVE_OLD_EVENTS } from './outbox.sql';

/** Removes events after seven days, whether or not they were read. */
@Injectable()
export class ExpiredEvents {
  constructor(expired: ExpiredRows) {
    expired.register('outbox', REMOVE_OLD_EVENTS);
  }
}
