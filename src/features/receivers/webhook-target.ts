import { isIP } from 'node:net';
import type { ReceiversSettings } from './receivers.settings';
import { isPublicAddress } from './public-address';

/** The host of a URL, without the brackets around IPv6. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/**
 * Why nothing can be sent to a URL, as far as that is known without resolving the name.
 * @returns undefined if there is no reason
 */
export function problemOf(text: string, environment: ReceiversSettings): string | undefined {
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
