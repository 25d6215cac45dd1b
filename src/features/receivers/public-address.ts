import { BlockList, isIP } from 'node:net';

/** IANA's registry of special-purpose addresses: private, shared (CGNAT), loopback, link-local, documentation, multicast. */
const SPECIAL_IPV4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Special ranges within 2000::/3: Teredo and the like, documentation, 6to4. They lead to IPv4 addresses or nowhere. */
const SPECIAL_IPV6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

function subnets(list: [string, number][], family: 'ipv4' | 'ipv6'): BlockList {
  const result = new BlockList();
  for (const [net, prefix] of list) result.addSubnet(net, prefix, family);
  return result;
}

const specialIPv4 = subnets(SPECIAL_IPV4, 'ipv4');
const specialIPv6 = subnets(SPECIAL_IPV6, 'ipv6');
/**
 * All IPv6 addresses ever assigned for the internet. It excludes loopback, mapped IPv4, NAT64, ULA, link-local and
 * multicast.
 */
const globalIPv6 = subnets([['2000::', 3]], 'ipv6');

/** Whether the text is an IP address of the public internet; false if it is not an address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !specialIPv4.check(address, 'ipv4');
  // An address with a zone belongs to this machine's network.
  if (family !== 6 || address.includes('%')) return false;
  return globalIPv6.check(address, 'ipv6') && !specialIPv6.check(address, 'ipv6');
}
