import type { FastifyRequest } from 'fastify';
import { IPv4, IPv6 } from 'ipaddr.js';
import { createHash } from 'node:crypto';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import type { Logger } from 'pino';

/**
 * The address in an X-Forwarded-For entry or of a socket, without port, brackets and zone. IPv4 mapped into IPv6 (RFC
 * 4291 section 2.5.5.2) becomes IPv4, so that a client has one address on every socket.
 * @returns undefined if it is not an address
 */
export function plainAddress(text: string): string | undefined {
  const entry = text.trim();
  if (isIPv4(entry)) return entry;
  const address = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1] ?? entry.replace(/^([\d.]+):\d{1,5}$/, '$1');
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return undefined;
  const [plain] = address.split('%');
  const parsed = IPv6.parse(plain);
  return parsed.isIPv4MappedAddress() ? embeddedAddress(parsed) : plain;
}

/** The IPv4 address in the last 32 bits. */
const embeddedAddress = (address: IPv6): string => new IPv4(address.toByteArray().slice(12)).toString();

/** No service has more proxies in a row. Each one costs a look-up in the ranges of TRUST_PROXY. */
const MAX_HOPS = 32;

/**
 * An X-Forwarded-For header reduced to plain addresses. Everything left of an invalid entry, or of the last 32, is
 * dropped, because nobody can tell who wrote it.
 */
export function plainForwardedFor(header: string): string {
  const addresses: string[] = [];
  for (const entry of header.split(',').reverse()) {
    if (entry.trim() === '') continue;
    const address = plainAddress(entry);
    if (address === undefined || addresses.length === MAX_HOPS) break;
    addresses.push(address);
  }
  return addresses.reverse().join(', ');
}

/** Where NAT64 puts the addresses of IPv4 (RFC 6052). */
const NAT64 = IPv6.parseCIDR('64:ff9b::/96');

/**
 * The key of one client: an IPv4 address, or the /64 network of an IPv6 address, because one client owns all of it. The
 * one of NAT64 is that of all clients of IPv4.
 */
export function clientKey(ip: string): string {
  // Most addresses are IPv4, and the pattern of IPv6 is long.
  if (!ip.includes(':') || !isIPv6(ip)) return ip;
  const address = IPv6.parse(ip.split('%')[0]);
  if (address.isIPv4MappedAddress() || address.match(NAT64)) return embeddedAddress(address);
  return address.parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** A key for a client that is not known by its address, spread like those of IPv6 networks. */
export const trackerKey = (tracker: string): string =>
  createHash('sha256').update(tracker).digest('hex').slice(0, 16).match(/.{4}/g)!.join(':');

/**
 * The networks around a client: IPv4 /16 and /8, IPv6 /32 and /16. There are at most 65,536 of the wider kind.
 * @param client the client's key
 */
export function widerNetworks(client: string): [string, string] {
  const [a, b] = client.split(/[.:]/);
  return client.includes(':') ? [`${a}:${b}/32`, `${a}/16`] : [`${a}.${b}.0.0/16`, `${a}.0.0.0/8`];
}

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
