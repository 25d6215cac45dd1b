import { Matches } from 'class-validator';

export class PoolsSettings {
  /** Smallest token units. */
  @Matches(/^\d{1,77}$/, { message: 'must be a whole number of smallest token units' })
  MIN_DEPOSIT = '10000000000000000000';
}
