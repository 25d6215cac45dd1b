import { Signature, Wallet } from 'ethers';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useApp } from '../support/app';

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
