import { fork } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SiweMessage } from 'siwe';
import { type Address, type Hex, formatEther, parseEther, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  type DevClient,
  type LocalDeployment,
  anvilRpc,
  connect,
  fund,
  poolContracts,
  receiptOf,
} from '#dev/deploy';

/** What a running `npm start` writes to .data/running.json. */
export interface Running {
  api: string;
  rpc: string;
  deployment: LocalDeployment;
  /** Of the PostgreSQL that `npm start` started itself. */
  database?: string;
}

/** A wallet that is signed in and has money on the chain. */
export interface Saver {
  name: string;
  chain: DevClient;
  call: <T>(method: string, path: string, body?: unknown) => Promise<T>;
  /** Reads until the answer is as expected, and no error: the indexer needs a moment for each block. */
  sees: <T>(path: string, wanted: (answer: T) => boolean) => Promise<T>;
}

/** Every saver has an address of its own on the loopback network, because the sign-in limit counts per address. */
function client(
  base: string,
): (method: string, path: string, body?: unknown, token?: string) => Promise<unknown> {
  const localAddress = `127.${[0, 0, 0].map(() => 1 + Math.floor(Math.random() * 253)).join('.')}`;
  return (method, route, body, token) =>
    new Promise((resolve, reject) => {
      const headers = {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
      };
      const sent = request(new URL(route, base), { method, headers, localAddress }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => {
          const answer = JSON.parse(text) as { data: unknown; error?: string };
          if (answer.error) reject(new Error(`${method} ${route}: ${response.statusCode} ${answer.error}`));
          else resolve(answer.data);
        });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

export async function signIn(name: string, { api, rpc, deployment }: Running): Promise<Saver> {
  const wallet = privateKeyToAccount(generatePrivateKey());
  const send = client(api);
  const { nonce } = (await send('POST', '/auth/nonce', { address: wallet.address })) as { nonce: string };
  const { host, origin } = new URL(api);
  const message = new SiweMessage({
    domain: host,
    uri: origin,
    address: wallet.address,
    version: '1',
    chainId: 31337,
    nonce,
  }).prepareMessage();
  const signature = await wallet.signMessage({ message });
  const { token } = (await send('POST', '/auth/verify', { message, signature })) as { token: string };
  const chain = await connect(rpc, wallet);
  await anvilRpc(chain, 'anvil_setBalance', wallet.address, toHex(parseEther('10')));
  for (const contract of Object.values(deployment.contracts))
    await fund(chain, deployment.token, contract, parseEther('1000'));
  const call = <T>(method: string, route: string, body?: unknown): Promise<T> =>
    send(method, route, body, token) as Promise<T>;
  const sees = async <T>(route: string, wanted: (answer: T) => boolean): Promise<T> => {
    let problem = 'it is not as expected';
    for (const end = Date.now() + 30_000; Date.now() < end; await sleep(200)) {
      try {
        const answer = await call<T>('GET', route);
        if (wanted(answer)) return answer;
      } catch (error) {
        problem = (error as Error).message;
      }
    }
    throw new Error(`${name} has waited for ${route} for 30 seconds: ${problem}`);
  };
  return { name, chain, call, sees };
}

/** Sends the calls that the API builds. */
export async function sendCalls({ chain, call }: Saver, path: string): Promise<void> {
  const { calls } = await call<{ calls: { to: Address; data: Hex }[] }>('GET', path);
  for (const { to, data } of calls) {
    const { status } = await receiptOf(chain, await chain.sendTransaction({ to, data }));
    if (status !== 'success') throw new Error(`a call of ${path} was reverted`);
  }
}

/** Starts a process of the service that follows the chain. */
export function startProcess({ rpc, deployment }: Running, script: string, settings: NodeJS.ProcessEnv) {
  const env = {
    PATH: process.env.PATH,
    RPC_URL: rpc,
    POOL_CONTRACTS: poolContracts(deployment),
    ...settings,
  };
  const child = fork(path.join(__dirname, '../..', script), { env, stdio: 'inherit' });
  return { child, ended: once(child, 'exit') as Promise<[number | null]> };
}

export const tokens = (amount: string): string => `${formatEther(BigInt(amount))} tokens`;
export const say = (text: string): void => void process.stdout.write(`${text}\n`);
export const step = (text: string): void => say(`\n== ${text}`);
