import { Injectable } from '@nestjs/common';
import { ExpiredRows } from '../database/expired-rows';
import { REMOVE_OLD_EVENTS } from './outbox.sql';

/** Has events removed after seven days, read or not. */
@Injectable()
export class ExpiredEvents {
  constructor(expired: ExpiredRows) {
    expired.register('outbox', REMOVE_OLD_EVENTS);
  }
}
