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
  return mappedAddress(groupsOf(address)) ?? address.split('%')[0];
}

/** The IPv4 address that is mapped into an IPv6 address, or that another network of 96 bits stands for, if any. */
function mappedAddress(groups: number[], network = '0:0:0:0:0:ffff'): string | undefined {
  if (groups.slice(0, 6).map(hex).join(':') !== network) return undefined;
  return [groups[6] >> 8, groups[6] & 255, groups[7] >> 8, groups[7] & 255].join('.');
}

const hex = (group: number): string => group.toString(16);

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
const NAT64 = '64:ff9b:0:0:0:0';

/**
 * The key of one client: an IPv4 address, or the /64 network of an IPv6 address, because one client owns all of it. The
 * one of NAT64 is that of all clients of IPv4.
 */
export function clientKey(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const groups = groupsOf(ip);
  const [a, b, c, d] = groups.map(hex);
  return mappedAddress(groups) ?? mappedAddress(groups, NAT64) ?? `${a}:${b}:${c}:${d}`;
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

/** The eight groups of a valid IPv6 address. */
function groupsOf(ip: string): number[] {
  const parse = (text: string): number[] =>
    text.split(':').flatMap((part) => {
      if (!part.includes('.')) return part === '' ? [] : [parseInt(part, 16)];
      const bytes = part.split('.').map(Number);
      return [bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]];
    });
  const [head = '', tail = ''] = ip.split('%')[0].split('::');
  const [before, after] = [parse(head), parse(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}
