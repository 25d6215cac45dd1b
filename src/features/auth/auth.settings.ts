import { IsIn, ValidateIf } from 'class-validator';
import { List, Setting } from '#platform/config/settings';
import { ChainSettings } from '#ledger/chain/chain.settings';

/** Whether it is host and port as in `domain` of EIP-4361: lower case, without a default port. */
const isPageHost = (item: string): boolean =>
  /^[a-z0-9.:[\]-]+$/.test(item) &&
  ['http', 'https'].every((scheme) => URL.parse(`${scheme}://${item}`)?.host === item);

/** Which sign-in messages are accepted. CHAIN_ID, which also decides, is a setting of the chain. */
export class AuthSettings extends ChainSettings {
  static override readonly title = 'Sign-in';

  @Setting('Hosts whose sign-in messages are accepted. Production needs it.', {
    readBy: ['API'],
    form: 'list of hosts, with port if any',
    unset: 'any',
    example: 'app.example.org,localhost:3000',
  })
  @List()
  @ValidateIf(({ SIWE_DOMAINS }: AuthSettings) => !SIWE_DOMAINS.every(isPageHost))
  @IsIn([], {
    message:
      'must list hosts as pages have them, such as app.example.org or app.example.org:8443: lower case, without scheme, path, and the ports 80 and 443',
  })
  SIWE_DOMAINS: string[] = [];
}
