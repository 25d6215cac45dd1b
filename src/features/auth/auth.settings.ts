import { IsIn, IsInt, IsOptional, Min, ValidateIf } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { Integer, List, Setting } from '#platform/config/settings';

/** Whether it is host and port as in `domain` of EIP-4361: lower case, without a default port. */
const isPageHost = (item: string): boolean =>
  /^[a-z0-9.:[\]-]+$/.test(item) &&
  ['http', 'https'].every((scheme) => URL.parse(`${scheme}://${item}`)?.host === item);

/** Which sign-in messages are accepted. */
export class AuthSettings extends ProcessSettings {
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

  @Setting('Sign-in messages for another chain are refused. Production needs it.', {
    readBy: ['API', 'indexer', 'keeper'],
    unset: 'any chain',
    example: '1',
  })
  @IsOptional()
  @Integer()
  @IsInt()
  @Min(1)
  CHAIN_ID?: number;
}
