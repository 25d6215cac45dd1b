import { isIP } from 'node:net';
import { validationFailed } from '#platform/errors/errors';
import type { WebhooksSettings } from './webhooks.settings';
import { isPublicAddress } from './public-address';

/** Of a URL, in the form in which it is stored. */
const MAX_LENGTH = 2048;

export interface Target {
  url: string;
  /** As hosts are compared: punycode, in lower case, without brackets and the dot at the end. */
  host: string;
}

/** The host of a URL, without the brackets around IPv6. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/**
 * Why nothing can be sent to a URL, as far as that is known without resolving the name.
 * @returns undefined if there is no reason
 */
export function problemOf(text: string, environment: WebhooksSettings): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute URL';
  const url = new URL(text);
  const isHttp = url.protocol === 'http:' && environment.NODE_ENV !== 'production';
  if (url.protocol !== 'https:' && !isHttp) return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not contain user name or password';
  const host = hostOf(url);
  if (isIP(host) !== 0 && !environment.WEBHOOK_ALLOW_PRIVATE && !isPublicAddress(host))
    return 'must not lead to a private address';
  return undefined;
}

/**
 * A URL that a user names, in one form: as it is requested, without its fragment. What was stored before is only held
 * against `problemOf`.
 * @throws ApiError 400
 */
export function targetOf(text: string, environment: WebhooksSettings): Target {
  const refused = (message: string): Error => validationFailed({ field: 'url', message });
  const problem = problemOf(text, environment);
  if (problem !== undefined) throw refused(problem);
  const url = new URL(text);
  url.hash = '';
  // The network policy in deploy/ lets nothing else out.
  if (environment.NODE_ENV === 'production' && url.port !== '') throw refused('must be at port 443');
  const host = hostOf(url).replace(/\.$/, '');
  if (host.split('.').includes('')) throw refused('must name a host');
  if (url.href.length > MAX_LENGTH)
    throw refused(`must not be longer than ${MAX_LENGTH} characters when encoded`);
  return { url: url.href, host };
}
