import { IsInt, IsOptional, Matches, Min } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { Integer, List } from '#platform/config/settings';

/** Host and port, as EIP-4361 has them in `domain` (an authority of RFC 3986 without a user). */
const DOMAIN = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

/** Which sign-in messages are accepted. */
export class AuthSettings extends ProcessSettings {
  @List()
  @Matches(DOMAIN, {
    each: true,
    message: 'must list hosts such as app.example.org or app.example.org:8443, without scheme or path',
  })
  SIWE_DOMAINS: string[] = [];

  @IsOptional() @Integer() @IsInt() @Min(1) CHAIN_ID?: number;
}
