import { IsBoolean, IsIn, IsOptional, IsString, Matches, MinLength, ValidateIf } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { Flag, Integer, List, Setting } from '#platform/config/settings';
import { isAddressRange } from './client-address';

/** What arrives unchanged in a header. */
const IN_A_HEADER = /^(?! )[ -~]*(?<! )$/;

/**
 * Whether an item of CORS_ORIGINS can match what a browser sends: `*`, or an origin as RFC 6454 serializes it (lower
 * case, no default port, no path). Pages of apps have schemes of their own, as in `capacitor://localhost`.
 */
function isOriginRule(item: string): boolean {
  if (item === '*') return true;
  if (/^https?:/i.test(item)) return URL.parse(item)?.origin === item && !item.includes('*');
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#A-Z*]+$/.test(item);
}

export class HttpSettings extends ProcessSettings {
  static override readonly title = 'HTTP';

  @Setting('Where the API listens.', { readBy: ['API'], example: '3001' })
  @Integer(0, 65535)
  PORT = 3001;

  @Setting('Address that each process listens on.', {
    readBy: ['API', 'indexer', 'keeper'],
    form: 'an address',
    unset: '`::`, which takes IPv4 too; `0.0.0.0` without IPv6; with `npm start` `127.0.0.1`',
    example: '::',
  })
  @IsString()
  HOST = '';

  @Setting(
    'Seconds that an idle connection stays open. A load balancer must close its own before: the one of Google Cloud after 600.',
    { readBy: ['API'] },
  )
  @Integer(1, 86_400)
  KEEP_ALIVE_TIMEOUT = 65;

  @Setting('Origins that browsers may call from. In development those of this machine may too.', {
    readBy: ['API'],
    form: 'list of origins with scheme and port; `*`: all',
    unset: 'none',
    example: 'https://app.example.org',
  })
  @List()
  @ValidateIf(({ CORS_ORIGINS }: HttpSettings) => !CORS_ORIGINS.every(isOriginRule))
  @IsIn([], {
    message: 'must list origins such as https://app.example.org, without a path or slash, or be *',
  })
  CORS_ORIGINS: string[] = [];

  @Setting('Proxies whose `X-Forwarded-For` is believed.', {
    readBy: ['API'],
    form: 'list of addresses or CIDR ranges',
    unset: 'none',
    example: '10.0.0.0/8',
  })
  @List()
  @ValidateIf(({ TRUST_PROXY }: HttpSettings) => !TRUST_PROXY.every(isAddressRange))
  @IsIn([], { message: 'must list IP addresses or CIDR ranges' })
  TRUST_PROXY: string[] = [];

  @Setting(
    'Bearer token that `/metrics` asks for. The API needs it in production; the others are open without.',
    { readBy: ['API', 'indexer', 'keeper'], form: 'at least 16 characters', unset: 'open', example: '' },
  )
  @IsOptional()
  @MinLength(16)
  @Matches(IN_A_HEADER, { message: 'must be printable ASCII, without blanks at its ends' })
  METRICS_TOKEN?: string;

  @Setting('A second token that `/metrics` accepts, while `METRICS_TOKEN` is changed.', {
    readBy: ['API', 'indexer', 'keeper'],
    form: 'at least 16 characters',
    unset: 'none',
    example: '',
  })
  @IsOptional()
  @MinLength(16)
  @Matches(IN_A_HEADER, { message: 'must be printable ASCII, without blanks at its ends' })
  METRICS_PREVIOUS_TOKEN?: string;

  @Setting('`false`: neither the page at `/docs` nor `/docs/openapi.json`.', { readBy: ['API'] })
  @Flag()
  @IsBoolean()
  DOCS = true;

  @Setting(
    'Where clients reach the API, for the OpenAPI document. Needed behind a proxy that adds a prefix.',
    { readBy: ['API'], form: 'http(s) address', unset: 'by request', example: 'https://example.org/prefix' },
  )
  @IsOptional()
  @Matches(/^https?:\/\/[^\s?#]*[^\s?#/]$/, {
    message: 'must be an http(s) address without a slash at its end',
  })
  PUBLIC_URL?: string;
}
