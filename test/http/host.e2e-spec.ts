import { useApp } from '../support/app';
import { raw } from '../support/network/raw';

const app = useApp({ CORS_ORIGINS: 'https://app.example.org', RATE_LIMIT_GENERAL: '100' });
beforeAll(() => app.listen());

interface Answer {
  status: number;
  headers: string;
  body: unknown;
}

/** Sends these lines as they are. */
async function send(...lines: string[]): Promise<Answer> {
  const answer = await raw(app.port!, [...lines, 'Connection: close', '', ''].join('\r\n'));
  const [headers, body] = answer.split('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1]),
    headers,
    body: body?.startsWith('{') ? (JSON.parse(body) as unknown) : undefined,
  };
}

const refused = (message: string): unknown => ({
  success: false,
  error: 'Validation failed',
  message: 'Validation failed',
  code: 'bad_request',
  details: [{ field: 'host', message }],
});

const TARGETS = ['/health/live', '/pools', '/nope', '/docs', 'http://a/health/live', '*'];

describe.each(TARGETS)('a request for %s', (target) => {
  it.each([
    [['Host: a', 'Host: b']],
    [['Host: a', 'Host: a']],
    [['hOST: a', 'Accept: */*', 'HOST: b']],
    [['Host: a', 'host:']],
  ])('is 400 with the hosts %j', async (hosts) => {
    const { status, body } = await send(`GET ${target} HTTP/1.1`, ...hosts);
    expect([status, body]).toEqual([400, refused('must be sent once')]);
  });

  it('is 400 without Host, but not by HTTP/1.0, which had none', async () => {
    const { status, body } = await send(`GET ${target} HTTP/1.1`);
    expect([status, body]).toEqual([400, refused('is required')]);
    expect((await send(`GET ${target} HTTP/1.0`)).status).not.toBe(400);
    expect((await send(`GET ${target} HTTP/1.0`, 'Host: a', 'Host: b')).status).toBe(400);
  });
});

it.each(['http://a/health/live', 'HTTP://a:80/api/health/live?', 'https://a/health/live/'])(
  'a request for %s is one for its path',
  async (target) => {
    const { status, body } = await send(`GET ${target} HTTP/1.1`, 'Host: a');
    expect([status, body]).toEqual([200, { status: 'alive' }]);
  },
);

it.each([
  '',
  'a b',
  'a/b',
  'user@a',
  'http://a',
  'a:b',
  'a:80:80',
  ':80',
  'a%',
  'a%zz',
  'a\\b',
  'é',
  'a\tb',
  '[::1',
  '::1',
  '[::1]x',
  '[1.2.3.4]',
  '[]',
])('the host %j is 400', async (host) => {
  const { status, body } = await send('GET /health/live HTTP/1.1', `Host: ${host}`);
  expect([status, body]).toEqual([400, refused('must be a host, and a port if any')]);
});

it.each(['a', 'A.example.org:3001', 'a.example.', '127.0.0.1:80', '[::1]', '[2001:db8::1]:443', 'a_b', 'a:'])(
  'the host %j is served',
  async (host) => {
    expect((await send('GET /health/live HTTP/1.1', `Host: ${host}`)).status).toBe(200);
  },
);

it("other headers may be sent twice, and X-Forwarded-Host is nobody's concern", async () => {
  const others = [
    'Accept: a',
    'Accept: b',
    'X-Forwarded-Host: a b',
    'X-Forwarded-Host: c',
    'Hosts: a',
    'Hos: a',
  ];
  expect((await send('GET /health/live HTTP/1.1', 'Host: a', ...others)).status).toBe(200);
});

it('preflights are refused as well', async () => {
  const asked = ['Origin: https://app.example.org', 'Access-Control-Request-Method: POST'];
  expect((await send('OPTIONS /pools HTTP/1.1', 'Host: a', ...asked)).status).toBe(204);
  const { status, body } = await send('OPTIONS /pools HTTP/1.1', 'Host: a', 'Host: b', ...asked);
  expect([status, body]).toEqual([400, refused('must be sent once')]);
});

it('what is refused counts toward the limits, has the headers of every answer, and is in the log of requests', async () => {
  const left = async (...hosts: string[]): Promise<number> => {
    const { headers } = await send('GET /pools HTTP/1.1', ...hosts);
    expect(headers).toMatch(/^x-request-id: /im);
    return Number(/^x-ratelimit-remaining: (\d+)/im.exec(headers)?.[1]);
  };
  const before = await left('Host: a');
  expect(await left('Host: a', 'Host: b')).toBe(before - 1);
  expect(await left()).toBe(before - 2);
});

it('the connection goes on, with the next request where it begins', async () => {
  const post = 'POST /pools HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Type: application/json\r\n';
  const inner = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
  const next = 'GET /health/ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  const answer = await raw(app.port!, `${post}Content-Length: ${inner.length}\r\n\r\n${inner}${next}`);
  expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
  expect(answer).not.toContain('"alive"');
});
