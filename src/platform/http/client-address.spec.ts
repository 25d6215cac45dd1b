import fc from 'fast-check';
import { clientKey, plainAddress, plainForwardedFor, trustedProxies, widerNetworks } from './client-address';

const group = fc.integer({ min: 0, max: 0xffff });
const groups = (count: number): fc.Arbitrary<number[]> =>
  fc.array(group, { minLength: count, maxLength: count });
const text = (parts: number[]): string => parts.map((part) => part.toString(16)).join(':');

describe('clientKey', () => {
  it('keeps an IPv4 address', () => {
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        expect(clientKey(ip)).toBe(ip);
      }),
    );
  });

  it('is the IPv4 address for one mapped into IPv6, in any notation', () => {
    expect(clientKey('::ffff:192.0.2.7')).toBe('192.0.2.7');
    expect(clientKey('::FFFF:192.0.2.7')).toBe('192.0.2.7');
    expect(clientKey('::ffff:c000:207')).toBe('192.0.2.7');
    expect(clientKey('0:0:0:0:0:ffff:c000:207')).toBe('192.0.2.7');
  });

  it('is the IPv4 address that NAT64 puts into IPv6, and only there', () => {
    expect(clientKey('64:ff9b::192.0.2.7')).toBe('192.0.2.7');
    expect(clientKey('64:FF9B:0:0:0:0:c000:208')).toBe('192.0.2.8');
    expect(clientKey('64:ff9b::1:c000:208')).toBe('64:ff9b:0:0');
    expect(clientKey('64:ff9b:1::192.0.2.7')).toBe('64:ff9b:1:0');
  });

  it('is the same for all addresses of an IPv6 /64, and different for others', () => {
    fc.assert(
      fc.property(groups(4), groups(4), groups(4), group, (network, host, other, changed) => {
        const key = clientKey(text([...network, ...host]));
        expect(clientKey(text([...network, ...other]))).toBe(key);
        expect(clientKey(text([...network, ...host]).toUpperCase())).toBe(key);
        fc.pre(changed !== network[3]);
        expect(clientKey(text([...network.slice(0, 3), changed, ...host]))).not.toBe(key);
      }),
    );
  });

  it('does not depend on how zeros are written', () => {
    const key = clientKey('2001:db8:0:0:1:2:3:4');
    for (const ip of ['2001:db8::1:2:3:4', '2001:0db8:0000:0::1', '2001:db8::', '2001:db8::9.9.9.9'])
      expect(clientKey(ip)).toBe(key);
    expect(clientKey('2001:db8:0:1::')).not.toBe(key);
    expect(clientKey('fe80::1%a-b')).toBe(clientKey('fe80::2'));
  });

  it('leaves anything else unchanged', () => {
    for (const ip of ['', 'unknown', ':::', 'a:b']) expect(clientKey(ip)).toBe(ip);
  });
});

describe('plainAddress', () => {
  it.each([
    ['198.51.100.7', '198.51.100.7'],
    [' 198.51.100.7 ', '198.51.100.7'],
    ['198.51.100.7:1000', '198.51.100.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['[::ffff:1.2.3.4]:80', '1.2.3.4'],
    ['fe80::1%eth0.100', 'fe80::1'],
    ['[fe80::1%25eth0]:1', 'fe80::1'],
  ])('of %j is %j', (text, address) => expect(plainAddress(text)).toBe(address));

  it.each(['', 'unknown', '1.2.3.4%eth0', '1.2.3.4:123456', '[2001:db8::1', '[2001:db8::1]443'])(
    'of %j is none',
    (text) => expect(plainAddress(text)).toBeUndefined(),
  );
});

describe('plainForwardedFor', () => {
  it.each([
    ['198.51.100.7:1000', '198.51.100.7'],
    ['192.0.2.1, [2001:db8::1]:443,10.0.0.1:80', '192.0.2.1, 2001:db8::1, 10.0.0.1'],
    ['192.0.2.1,, ,10.0.0.1', '192.0.2.1, 10.0.0.1'],
    ['192.0.2.1, unknown, 10.0.0.1', '10.0.0.1'],
    ['192.0.2.1, unknown', ''],
    [',', ''],
    [`192.0.2.1, ${Array(32).fill('10.0.0.1').join(', ')}`, Array(32).fill('10.0.0.1').join(', ')],
  ])('of %j is %j', (header, plain) => expect(plainForwardedFor(header)).toBe(plain));
});

describe('widerNetworks', () => {
  it('of IPv4 are /16 and /8', () =>
    expect(widerNetworks(clientKey('198.51.100.7'))).toEqual(['198.51.0.0/16', '198.0.0.0/8']));

  it('of IPv6 are /32 and /16', () =>
    expect(widerNetworks(clientKey('2001:db8:12:3456::1'))).toEqual(['2001:db8/32', '2001/16']));
});

describe('trustedProxies', () => {
  const isTrusted = trustedProxies(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1']);

  it.each(['10.0.0.1', '10.255.255.255', '192.0.2.7', '2001:db8:ffff::9', '::1'])('has %s', (address) =>
    expect(isTrusted(address)).toBe(true),
  );

  it.each(['11.0.0.1', '9.255.255.255', '192.0.2.8', '2001:db9::1', '::2', '0.0.0.1'])(
    'has not %s',
    (address) => expect(isTrusted(address)).toBe(false),
  );

  it('is empty if none are configured', () => {
    for (const address of ['127.0.0.1', '::1', '10.0.0.1']) expect(trustedProxies([])(address)).toBe(false);
  });
});
