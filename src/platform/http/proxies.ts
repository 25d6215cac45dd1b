import type { FastifyRequest } from 'fastify';
import { BlockList, isIP } from 'node:net';
import type { Logger } from 'pino';
import { plainAddress, plainForwardedFor } from './client-address';

/**
 * Whether a text is an IP address or a CIDR range. A range of all addresses is none: it would trust everybody.
 * Nor is IPv4 mapped into IPv6, since addresses are compared in their plain form.
 */
export function isAddressRange(range: string): boolean {
  const [address = '', bits, ...rest] = range.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || plainAddress(address) !== address) return false;
  return (
    bits === undefined ||
    (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128))
  );
}

/** Whether an address is in one of the ranges of TRUST_PROXY. */
export function trustedProxies(ranges: string[]): (address: string) => boolean {
  const list = new BlockList();
  const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => list.check(address, familyOf(address));
}

/**
 * A hook before all others that makes `request.ip` a plain address, as limits, logs and Redis keys use it. Fastify
 * keeps X-Forwarded-For entries unchanged, with ports and anything else that proxies and clients write.
 */
export function plainClientAddress(proxies: string[], logger: Logger) {
  let warned = false;
  return (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    const { headers } = request.raw;
    const forwarded = headers['x-forwarded-for'];
    if (typeof forwarded === 'string') {
      if (proxies.length > 0) headers['x-forwarded-for'] = plainForwardedFor(forwarded);
      else if (!warned) {
        warned = true;
        logger.warn(
          { ip: request.ip },
          'X-Forwarded-For is ignored while TRUST_PROXY is not set: behind a proxy all clients share one rate limit',
        );
      }
    }
    const { ip } = request;
    const plain = ip && plainAddress(ip);
    if (plain && plain !== ip) Object.defineProperty(request, 'ip', { value: plain });
    done();
  };
}
