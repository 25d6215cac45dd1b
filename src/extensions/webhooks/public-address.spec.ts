import { isPublicAddress } from './public-address';

it.each('8.8.8.8 100.63.255.255 100.128.0.1 172.32.0.1 223.255.255.254 2001:4860:4860::8888'.split(' '))(
  'sends to %s',
  (address) => expect(isPublicAddress(address)).toBe(true),
);

it.each([
  ['this network', '0.0.0.0'],
  ['private', '10.0.0.7'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['shared (CGNAT)', '100.64.0.1'],
  ['loopback', '127.0.0.1'],
  ['link-local: metadata of clouds', '169.254.169.254'],
  ['multicast', '224.0.0.1'],
  ['loopback', '::1'],
  ['mapped IPv4, even public', '::ffff:8.8.8.8'],
  ['compatible IPv4', '::127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['local NAT64', '64:ff9b:1::7f00:1'],
  ['ULA', 'fc00::1'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['public with a zone', '2606:4700:4700::1111%eth0'],
  ['multicast', 'ff02::1'],
  ['documentation', '3fff::1'],
  ['Teredo', '2001:0:7f00:1::'],
  ['6to4', '2002:7f00:1::'],
  ['no address', 'localhost'],
  ['no address', ''],
  ['octal', '0177.0.0.1'],
])('does not send to what is %s: %s', (_, address) => expect(isPublicAddress(address)).toBe(false));
