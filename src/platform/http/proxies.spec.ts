import { trustedProxies } from './proxies';

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
