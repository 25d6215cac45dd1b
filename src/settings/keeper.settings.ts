import { IsOptional, Matches } from 'class-validator';
import { privateKeyToAccount } from 'viem/accounts';
import { isStrongSecret } from '#platform/config/secret';
import { Integer, Setting } from '#platform/config/settings';
import { ChainSettings, strangersIn } from '#ledger/chain/chain.settings';
import { AmountsByContract, ContractAmounts } from '#ledger/chain/amounts';

/** Of the process that sends transactions nobody else may care to send. */
export class KeeperSettings extends ChainSettings {
  static override readonly title = 'Keeper';

  @Setting(
    'Private key of the account that pays for what the [keeper](keeper.md) sends. Only for that, with little ether.',
    { readBy: ['keeper'], form: '0x and 64 hex digits', unset: 'the keeper needs it', example: '' },
  )
  @IsOptional()
  @Matches(/^0x[0-9a-fA-F]{64}$/, { message: 'must be a private key: 0x and 64 hex digits' })
  KEEPER_KEY?: `0x${string}`;

  @Setting('Ether that the keeper spends in 24 hours at most.', { readBy: ['keeper'], form: 'decimal' })
  @Matches(/^\d{1,6}(\.\d{1,18})?$/, { message: 'must be an amount of ether, such as 0.05' })
  KEEPER_BUDGET = '0.05';

  @Setting(
    "Yield from which on the keeper pays it in again: what is worth the gas of some 45,000 an account. The contract's minimum holds besides.",
    { readBy: ['keeper'], form: 'smallest token units' },
  )
  @Matches(/^\d{1,78}$/, { message: 'must be an amount in smallest token units' })
  KEEPER_LEAST_YIELD = '0';

  @Setting('The same for contracts where it is another: those of a token with other decimals.', {
    readBy: ['keeper'],
    form: '`0x…=units`, separated by commas',
    unset: '`KEEPER_LEAST_YIELD` everywhere',
    example: '',
  })
  @AmountsByContract()
  KEEPER_LEAST_YIELDS = new ContractAmounts();

  @Setting("Port of the keeper's own `/health`, `/health/live` and `/metrics`.", {
    readBy: ['keeper'],
    example: '3003',
  })
  @Integer(0, 65535)
  KEEPER_PORT = 3003;

  static override problems(settings: KeeperSettings, wrong: (name: string) => boolean): string[] {
    const { KEEPER_KEY, NODE_ENV } = settings;
    const problems = [
      ...super.problems(settings, wrong),
      ...strangersIn('KEEPER_LEAST_YIELDS', () => settings.KEEPER_LEAST_YIELDS, settings, wrong),
    ];
    if (!KEEPER_KEY || wrong('KEEPER_KEY')) return problems;
    if (!isKey(KEEPER_KEY)) return [...problems, 'KEEPER_KEY is no private key'];
    const isWeak = NODE_ENV === 'production' && !isStrongSecret(KEEPER_KEY);
    return isWeak ? [...problems, 'KEEPER_KEY is easy to guess'] : problems;
  }
}

/** Zero and numbers beyond the curve's order are none. */
function isKey(key: `0x${string}`): boolean {
  try {
    return privateKeyToAccount(key).address !== undefined;
  } catch {
    return false;
  }
}
