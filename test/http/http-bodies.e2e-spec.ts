import { TEN, type SignedIn, useApp } from '../support/app';

const app = useApp();
let user: SignedIn;

beforeAll(async () => {
  user = await app.signIn();
});

describe('bodies', () => {
  const send = (body: string | undefined, headers: Record<string, string> = {}) =>
    app.send({ method: 'POST', url: '/pools', body, headers, as: user });

  it.each([
    '{',
    '{"type":',
    'type=lottery',
    '\0',
    '{"a":1}}',
    "{'a':1}",
    '[1,]',
    ' ',
    '{"__proto__":{"a":1}}',
  ])('that are not JSON, or poison objects, are 400: %j', async (body) => {
    const answer = await send(body);
    expect(answer.status).toBe(400);
    expect((await app.send({ method: 'POST', url: '/auth/verify', body })).body).toEqual(answer.body);
    expect(answer.body).toEqual({
      success: false,
      error: 'Validation failed',
      code: 'invalid_json',
      details: [{ field: 'request', message: 'request is malformed' }],
    });
  });

  it('of another content type are 415', async () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded',
      'nonsense',
    ]) {
      for (const url of ['/pools', '/auth/nonce', '/auth/verify']) {
        const headers = { 'content-type': type };
        const answer = await app.send({ method: 'POST', url, body: '{}', headers, as: user });
        expect([type, url, answer.status, answer.body]).toEqual([
          type,
          url,
          415,
          { success: false, error: 'Unsupported media type', code: 'unsupported_media_type' },
        ]);
      }
    }
  });

  it('may have 64 KB, and no more', async () => {
    const of = (bytes: number): string => {
      const fields = { type: 'lottery', initialDeposit: TEN, padding: '' };
      return JSON.stringify({ ...fields, padding: 'x'.repeat(bytes - JSON.stringify(fields).length) });
    };
    expect((await send(of(64 * 1024))).status).toBe(201);
    const answer = await send(of(64 * 1024 + 1));
    expect([answer.status, answer.body]).toEqual([
      413,
      { success: false, error: 'Payload too large', code: 'payload_too_large' },
    ]);
    for (const url of ['/auth/nonce', '/auth/verify'])
      expect((await app.send({ method: 'POST', url, body: of(70_000) })).status).toBe(413);
  });

  it('may be deep', async () => {
    const deep = `{"type":"lottery","initialDeposit":"${TEN}","members":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    expect((await send(deep)).status).toBe(400);
  });
});
