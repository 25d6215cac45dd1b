// Signs in with a fresh wallet and prints the token: TOKEN=$(node examples/wallet.mjs)
// The service is at BASE_URL, or on this machine at PORT.
import { SiweMessage } from 'siwe';
import { getAddress } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

const base = process.env.BASE_URL ?? `http://localhost:${process.env.PORT ?? 3001}`;
const wallet = privateKeyToAccount(process.env.PRIVATE_KEY ?? generatePrivateKey());
const post = async (path, body) => {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {
    console.error(`Nothing answers at ${base}: start the service first, with npm start.`);
    process.exit(1);
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()).data;
};

const { nonce } = await post('/auth/nonce', { address: wallet.address });
const { host } = new URL(base);
const address = getAddress(wallet.address);
const fields = { domain: host, uri: base, address, version: '1', chainId: 31337, nonce };
const message = new SiweMessage(fields).prepareMessage();
const signature = await wallet.signMessage({ message });
const { token } = await post('/auth/verify', { message, signature });
console.log(token);
