import axios, { type AxiosInstance, isAxiosError } from 'axios';
import { Signature, Wallet } from 'ethers';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SiweMessage } from 'siwe';
import { type TestApp, useApp } from '../support/app';

interface Made {
  package: string;
  how: string;
  message: string;
  refused?: string;
}
interface Sent {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  credentials?: string;
}
/** What these packages made and sent, as it was recorded. All messages are of the same well-known key of tests. */
const { messages, porto } = JSON.parse(
  readFileSync(join(__dirname, '../vectors/foreign-clients.json'), 'utf8'),
) as { messages: Made[]; porto: { package: string; requests: Sent[] } };
const wallet = new Wallet('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d');

/** Wraps most of the web: a client with a header for every request, whether it has a body or not. */
const client = (app: TestApp, token?: string): AxiosInstance =>
  axios.create({
    baseURL: `http://127.0.0.1:${app.port}/api/`,
    headers: {
      'Content-Type': 'application/json',
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
  });

/** As the README of siwe signs in. */
async function signIn(app: TestApp, nonce: string): Promise<AxiosInstance> {
  const message = new SiweMessage({
    domain: 'app.example.org',
    address: wallet.address,
    uri: 'https://app.example.org/login',
    version: '1',
    chainId: 1,
    nonce,
  }).prepareMessage();
  const signature = await wallet.signMessage(message);
  const { data } = await client(app).post<{ token: string }>('auth/verify', { message, signature });
  return client(app, data.token);
}
const nonceOf = async (app: TestApp, path: string): Promise<string> =>
  (await client(app).get<{ nonce: string }>(path)).data.nonce;

describe('messages', () => {
  const app = useApp({ SIWE_DOMAINS: 'app.example.org', CHAIN_ID: '1' });

  it.each(messages.map((made): [string, Made] => [`${made.package}: ${made.how}`, made]))(
    'of %s',
    async (_, { message, refused }) => {
      const nonce = /\nNonce: (\w+)\n/.exec(message)![1];
      const signature = await wallet.signMessage(message);
      for (const form of [signature, Signature.from(signature).compactSerialized]) {
        await app.sql(`INSERT INTO nonces (nonce, expires_at) VALUES ($1, now() + interval '9 minutes')`, [
          nonce,
        ]);
        const { status, body } = await app.post('/auth/verify', { message, signature: form });
        expect([status, body.user?.address]).toEqual(
          refused ? [401, undefined] : [200, wallet.address.toLowerCase()],
        );
        await app.sql('DELETE FROM nonces');
      }
    },
  );
});

describe('axios, with a Content-Type for every request', () => {
  const app = useApp();
  beforeAll(() => app.listen());

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'application/json'],
    ['nothing', undefined, 'application/x-www-form-urlencoded'],
    ['null', null, 'application/json'],
    ['null', null, 'text/plain'],
    ['an empty text', '', 'application/x-www-form-urlencoded'],
    ['an empty object', {}, 'application/json'],
    ['parameters without any', new URLSearchParams(), 'application/x-www-form-urlencoded'],
  ])('logs out with %s as body', async (_, body, type) => {
    for (const path of ['auth/logout', 'users/me/logout/', 'auth/logout/all']) {
      const user = await signIn(app, await nonceOf(app, 'auth/nonce'));
      const { status } = await user.post(path, body, { headers: { 'Content-Type': type } });
      expect([path, status]).toEqual([path, 200]);
      await expect(user.get('users/me')).rejects.toMatchObject({ response: { status: 401 } });
    }
  });

  it('reads a list with the empty fields of a form, and the text of an error', async () => {
    const user = await signIn(app, await nonceOf(app, 'auth/nonce'));
    const params = { type: '', page: '', limit: '' };
    const { data } = await user.get<{ pagination: object }>('pools/', { params });
    expect(data.pagination).toEqual({ page: 1, limit: 20, total: 0, pages: 0 });
    const error: unknown = await user.get('pools/nonsense').catch((thrown: unknown) => thrown);
    expect(isAxiosError(error) && error.response?.data).toMatchObject({ message: 'Not found' });
  });
});

describe(porto.package, () => {
  const app = useApp({ CORS_ORIGINS: 'https://app.example.org', SIWE_DOMAINS: 'app.example.org' });

  it('gets nonce and token by the requests that it sends, with cookies allowed', async () => {
    const origin = {
      origin: 'https://app.example.org',
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'cors',
    };
    const [ask, verify] = porto.requests;
    const send = ({ url, method, headers }: Sent, body: unknown) =>
      app.send({ method, url: new URL(url).pathname, body, headers: { ...headers, ...origin } });
    const given = await send(ask, ask.body);
    expect([given.status, given.body.nonce]).toEqual([200, expect.any(String)]);
    const recorded = verify.body.message as string;
    const message = recorded.replace(/(?<=\nNonce: )\w+/, given.body.nonce as string);
    const signature = await wallet.signMessage(message);
    const answer = await send(verify, { ...verify.body, message, signature });
    expect([answer.status, answer.body.token]).toEqual([200, expect.any(String)]);
    expect(verify.credentials).toBe('include');
    expect(answer.headers['access-control-allow-credentials']).toBe('true');
  });
});
