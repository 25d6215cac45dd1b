import { parse, parseCIDR } from 'ipaddr.js';
import { isIP } from 'node:net';

/** The range of all IPv6 addresses assigned to the internet so far. */
const GLOBAL_IPV6 = parseCIDR('2000::/3');

/**
 * Whether the text is an IP address of the public internet: in none of the special-purpose ranges of IANA's registries,
 * such as private, shared (CGNAT), loopback, link-local, documentation, and those that stand for IPv4 addresses.
 */
export function isPublicAddress(text: string): boolean {
  // The library also accepts octal numbers. An address with a zone belongs to this machine's network.
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = parse(text);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(GLOBAL_IPV6));
}
