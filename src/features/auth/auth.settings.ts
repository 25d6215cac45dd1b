import { IsInt, IsOptional, Matches, Min } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { Integer, List } from '#platform/config/settings';
import { Setting } from '#platform/config/setting';

/** Host and port, as EIP-4361 has them in `domain` (an authority of RFC 3986 without a user). */
const DOMAIN = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

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
  @Matches(DOMAIN, {
    each: true,
    message: 'must list hosts such as app.example.org or app.example.org:8443, without scheme or path',
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
