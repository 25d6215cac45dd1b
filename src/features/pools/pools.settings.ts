import { Matches } from 'class-validator';
import { Setting } from '#platform/config/setting';

export class PoolsSettings {
  static readonly title = 'Pools';

  @Setting('Smallest first deposit.', { readBy: ['API'], form: 'smallest token units' })
  @Matches(/^\d{1,77}$/, { message: 'must be a whole number of smallest token units' })
  MIN_DEPOSIT = '10000000000000000000';
}
