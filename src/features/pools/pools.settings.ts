import { Matches } from 'class-validator';
import { Setting } from '#platform/config/settings';
import { type ChainSettings, strangersIn } from '#ledger/chain/chain.settings';
import { AmountsByContract, ContractAmounts } from '#ledger/chain/amounts';

export class PoolsSettings {
  static readonly title = 'Pools';

  @Setting('Smallest first deposit.', { readBy: ['API'], form: 'smallest token units' })
  @Matches(/^\d{1,77}$/, { message: 'must be a whole number of smallest token units' })
  MIN_DEPOSIT = '10000000000000000000';

  @Setting('Smallest first deposit at contracts where it is another: those of a token with other decimals.', {
    readBy: ['API'],
    form: '`0x…=units`, separated by commas',
    unset: '`MIN_DEPOSIT` everywhere',
    example: '',
  })
  @AmountsByContract()
  MIN_DEPOSITS = new ContractAmounts();

  static problems(settings: PoolsSettings & ChainSettings, wrong: (name: string) => boolean): string[] {
    return strangersIn('MIN_DEPOSITS', () => settings.MIN_DEPOSITS, settings, wrong);
  }
}
