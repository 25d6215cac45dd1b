import type { Request } from 'autocannon';
import { createSiweMessage } from 'viem/siwe';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { type Load, type Run, drive } from './drive';
import { JSON_BODY } from './loads';
import { type Peer, SIWE_DOMAIN } from './peers';

const CONNECTIONS = 32;
const wallets = Array.from({ length: CONNECTIONS }, () => privateKeyToAccount(generatePrivateKey()));

const post = (path: string, body: object, onResponse?: Request['onResponse']): Request => ({
  method: 'POST',
  path,
  headers: JSON_BODY,
  body: JSON.stringify(body),
  ...(onResponse && { onResponse }),
});

export interface SignIns extends Run {
  /** The last answer of each step to the first wallet. */
  samples: string[];
}

/**
 * Signs wallets in, each several times. The wallets' signing, which is the client's work, is done between the timed
 * nonces and the timed verifications.
 */
export async function signIns({ url }: Peer, each: number): Promise<SignIns> {
  const amount = CONNECTIONS * each;
  const nonces: string[][] = wallets.map(() => []);
  const samples: string[] = [];
  const asking: Load = {
    connections: CONNECTIONS,
    requests: (index) => [
      post('/auth/nonce', { address: wallets[index].address }, (_, body) => {
        nonces[index].push((JSON.parse(body) as { nonce: string }).nonce);
        if (index === 0) samples[0] = body;
      }),
    ],
  };
  const asked = await drive(url, asking, { amount });

  const signed = await Promise.all(
    wallets.map((wallet, i) => Promise.all(nonces[i].map((nonce) => sign(wallet, nonce)))),
  );
  const verifying: Load = {
    connections: CONNECTIONS,
    requests: (index) =>
      signed[index].map((body) =>
        post('/auth/verify', body, (_, text) => {
          if (index === 0) samples[1] = text;
        }),
      ),
  };
  const verified = await drive(url, verifying, { amount });
  return {
    rate: 1 / (1 / asked.rate + 1 / verified.rate),
    latency: asked.latency + verified.latency,
    p99: asked.p99 + verified.p99,
    answers: amount,
    samples,
  };
}

async function sign(
  wallet: (typeof wallets)[number],
  nonce: string,
): Promise<{ message: string; signature: string }> {
  const message = createSiweMessage({
    address: wallet.address,
    chainId: 1,
    domain: SIWE_DOMAIN,
    nonce,
    uri: `https://${SIWE_DOMAIN}`,
    version: '1',
    statement: 'Sign in to the pooled savings service.',
  });
  return { message, signature: await wallet.signMessage({ message }) };
}
