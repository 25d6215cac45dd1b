import { IPv4, IPv6 } from 'ipaddr.js';
import { createHash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';

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
  if (!isIPv6(ip)) return ip;
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
 * The networks around a client, narrowest first: IPv4 /24, /16, /8; IPv6 /56, /48, /32, /16. There are at most 65,536
 * networks of the widest kind.
 * @param client the client's key
 */
export function widerNetworks(client: string): string[] {
  if (!client.includes(':')) {
    const [a, b, c] = client.split('.');
    return [`${a}.${b}.${c}.0/24`, `${a}.${b}.0.0/16`, `${a}.0.0.0/8`];
  }
  const [a, b, c, d] = client.split(':');
  return [`${a}:${b}:${c}:${d.slice(0, -2)}00/56`, `${a}:${b}:${c}/48`, `${a}:${b}/32`, `${a}/16`];
}
