import { WebhooksSettings } from '#extensions/webhooks/webhooks.settings';
import { problemOf, targetOf } from '#extensions/webhooks/webhook-target';

const production = Object.assign(new WebhooksSettings(), { NODE_ENV: 'production' });
const development = Object.assign(new WebhooksSettings(), { NODE_ENV: 'development' });

it.each([
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '[::]',
  '[::ffff:127.0.0.1]',
  '１２７.0.0.1',
])('nothing leads to an address that is not public: %s', (host) => {
  expect(problemOf(`http://${host}/`, development)).toBe('must not lead to a private address');
  const allowing = { ...development, WEBHOOK_ALLOW_PRIVATE: true };
  expect(problemOf(`http://${host}/`, allowing)).toBeUndefined();
});

describe('a URL that a user names', () => {
  it.each([
    ['https://example.org', 'https://example.org/', 'example.org'],
    ['https://Example.ORG:443/Path?a=B', 'https://example.org/Path?a=B', 'example.org'],
    ['https://example.org/#part', 'https://example.org/', 'example.org'],
    ['https://example.org./', 'https://example.org./', 'example.org'],
    ['https:example.org', 'https://example.org/', 'example.org'],
    ['https:\\\\example.org\\@evil.example', 'https://example.org/@evil.example', 'example.org'],
    ['https://exam\tple.org\n/', 'https://example.org/', 'example.org'],
    ['https://ex%61mple.org/', 'https://example.org/', 'example.org'],
    ['https://MÜNCHEN.example/ä', 'https://xn--mnchen-3ya.example/%C3%A4', 'xn--mnchen-3ya.example'],
    ['https://ｅｘａｍｐｌｅ。org/', 'https://example.org/', 'example.org'],
    ['https://exa\u00admple.org/', 'https://example.org/', 'example.org'],
    ['https://８.8.8.8/', 'https://8.8.8.8/', '8.8.8.8'],
    ['https://8.8.8.8./', 'https://8.8.8.8/', '8.8.8.8'],
    ['https://[2606:4700:0::1111]/', 'https://[2606:4700::1111]/', '2606:4700::1111'],
  ])('has one form: %j', (text, url, host) => {
    expect(targetOf(text, production)).toEqual({ url, host });
    // Which it keeps.
    expect(targetOf(url, production)).toEqual({ url, host });
  });

  it.each([
    ['https://example.org:8443/', 'must be at port 443'],
    ['https://example.org:80/', 'must be at port 443'],
    ['https://[2606:4700::1111]:444/', 'must be at port 443'],
    ['http://example.org:443/', 'must be an https URL'],
    ['ftp://example.org/', 'must be an https URL'],
    ['https://user@example.org/', 'must not contain user name or password'],
    ['https://:password@example.org/', 'must not contain user name or password'],
    ['https://example.org@127.0.0.1/', 'must not contain user name or password'],
    ['https://10.0.0.1/', 'must not lead to a private address'],
    ['https://127.0.0.1./', 'must not lead to a private address'],
    ['https://[::ffff:8.8.8.8]/', 'must not lead to a private address'],
    ['https://./', 'must name a host'],
    ['https://example.org../', 'must name a host'],
    ['https://.example.org/', 'must name a host'],
    ['https://exa mple.org/', 'must be an absolute URL'],
    ['https://example.org:65536/', 'must be an absolute URL'],
    ['example.org', 'must be an absolute URL'],
    ['//example.org/', 'must be an absolute URL'],
    [`https://example.org/${'ä'.repeat(400)}`, 'must not be longer than 2048 characters when encoded'],
  ])('is refused in production: %j', (text, message) =>
    expect(() => targetOf(text, production)).toThrow(
      expect.objectContaining({ details: [{ field: 'url', message }] }),
    ),
  );

  it('may have any port elsewhere', () =>
    expect(targetOf('http://example.org:8080', development)).toEqual({
      url: 'http://example.org:8080/',
      host: 'example.org',
    }));

  it('that was stored in another form is still sent to', () => {
    for (const url of ['https://EXAMPLE.org:8443#part', 'https://example.org..'])
      expect(problemOf(url, production)).toBeUndefined();
  });
});
