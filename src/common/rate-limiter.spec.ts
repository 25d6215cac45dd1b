import fc from 'fast-check';
import { clientKey } from './rate-limiter';

const group = fc.integer({ min: 0, max: 0xffff });
const groups = (count: number): fc.Arbitrary<number[]> =>
  fc.array(group, { minLength: count, maxLength: count });
const text = (parts: number[]): string => parts.map((part) => part.toString(16)).join(':');

describe('clientKey', () => {
  it('is an IPv4 address as it is', () => {
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        expect(clientKey(ip)).toBe(ip);
      }),
    );
  });

  it('is the IPv4 address of one mapped into IPv6, however it is written', () => {
    expect(clientKey('::ffff:192.0.2.7')).toBe('192.0.2.7');
    expect(clientKey('::FFFF:192.0.2.7')).toBe('192.0.2.7');
    expect(clientKey('::ffff:c000:207')).toBe('192.0.2.7');
    expect(clientKey('0:0:0:0:0:ffff:c000:207')).toBe('192.0.2.7');
  });

  it('is one for all addresses of an IPv6 /64, and another for another', () => {
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
    expect(clientKey('1::2:3:4:5.6.7.8')).toBe(clientKey('1:0:0:2:3:4:506:708'));
    expect(clientKey('fe80::1%eth0')).toBe(clientKey('fe80::2'));
    expect(clientKey('::1')).toBe(clientKey('0:0:0:0:0:0:0:1'));
    expect(clientKey('1::2:3:4:5:6:7')).toBe(clientKey('1:0:2:3:4:5:6:7'));
    expect(clientKey('::2:3:4:5:6:7:8')).toBe(clientKey('0:2:3:4:5:6:7:8'));
    expect(clientKey('1:2:3:4:5:6:7::')).toBe(clientKey('1:2:3:4::'));
  });

  it('leaves what is no address alone', () => {
    for (const ip of ['', 'unknown', ':::', 'a:b']) expect(clientKey(ip)).toBe(ip);
  });
});
