import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatEther, parseEther, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createSiweMessage } from 'viem/siwe';
import { bytes16 } from '#values/bytes16';
import { POOL_TYPES, type PoolType, TYPE_WITH_CIRCLES } from '#values/types';
import {
  type DevClient,
  type LocalDeployment,
  anvilRpc,
  connect,
  execute,
  fund,
  poolContracts,
  read,
} from './deploy';
import { readJson } from './files';

/**
 * `npm run demo` beside a running `npm start`: the life of three pools, on the chain and through the API, with a
 * reorganisation in the middle. Each step prints what the API says afterwards. In the end all of it is
 * verified.
 */
const NAMES = ['First', 'Second', 'Third'];
/** Instead of the id of an announced deposit. */
const NONE = bytes16('0'.repeat(32));
const PATIENCE_MS = 30_000;

/** What a running `npm start` writes to .data/running.json. */
interface Running {
  api: string;
  rpc: string;
  deployment: LocalDeployment;
  /** Of the PostgreSQL that `npm start` started itself. */
  database?: string;
}

interface Transaction {
  id: string;
  status: string;
  txHash: string | null;
  amount: string;
}

interface YieldReport {
  totalYield: string;
  claimableYield: string;
  apr: number;
  apy: number;
  lastClaimed: string | null;
}

/** A wallet that is signed in and has money on the chain. */
class Saver {
  private constructor(
    readonly name: string,
    readonly chain: DevClient,
    private readonly api: string,
    private token?: string,
  ) {}

  static async signIn(name: string, { api, rpc, deployment }: Running): Promise<Saver> {
    const wallet = privateKeyToAccount(generatePrivateKey());
    const saver = new Saver(name, await connect(rpc, wallet), api);
    const { address } = wallet;
    const { nonce } = await saver.call<{ nonce: string }>('POST', '/auth/nonce', { address });
    const { host: domain, origin: uri } = new URL(api);
    const { id: chainId } = saver.chain.chain;
    const message = createSiweMessage({ domain, uri, address, version: '1', chainId, nonce });
    const signature = await wallet.signMessage({ message });
    saver.token = (await saver.call<{ token: string }>('POST', '/auth/verify', { message, signature })).token;
    await anvilRpc(saver.chain, 'anvil_setBalance', address, toHex(parseEther('10')));
    for (const contract of Object.values(deployment.contracts))
      await fund(saver.chain, deployment.token, contract, parseEther('1000'));
    return saver;
  }

  async call<T>(method: string, route: string, body?: unknown): Promise<T> {
    const headers = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(this.token && { authorization: `Bearer ${this.token}` }),
    };
    const response = await fetch(this.api + route, { method, headers, body: JSON.stringify(body) });
    const { data, error } = (await response.json()) as { data: T; error?: string };
    if (error) throw new Error(`${method} ${route}: ${response.status} ${error}`);
    return data;
  }

  /** Reads until the answer is as expected: the indexer needs a moment for each block. */
  async sees<T>(route: string, isExpected: (answer: T) => boolean): Promise<T> {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(200)) {
      const answer = await this.call<T>('GET', route);
      if (isExpected(answer)) return answer;
    }
    throw new Error(`${this.name} has waited for ${route} for 30 seconds: it is not as expected`);
  }
}

async function main(): Promise<void> {
  const running = await findRunning();
  const { contracts, token } = running.deployment;
  const owner = await connect(running.rpc);

  step('Three wallets sign in');
  const savers: Saver[] = [];
  for (const name of NAMES) savers.push(await Saver.signIn(name, running));
  for (const { name, chain } of savers) say(`${name} is ${chain.account.address}`);
  const [first, second, third] = savers;
  const members = [second, third].map(({ chain }) => chain.account.address);

  step('First opens a pool of each type without circles, and deposits on the chain what was announced');
  const pools = new Map<PoolType, string>();
  for (const type of POOL_TYPES.filter((each) => each !== TYPE_WITH_CIRCLES)) {
    const body = { type, initialDeposit: parseEther('100').toString(), members };
    const { id } = await first.call<{ id: string }>('POST', '/pools', body);
    pools.set(type, id);
    const route = `/transactions?poolId=${id}&type=DEPOSIT`;
    const [before] = await first.call<Transaction[]>('GET', route);
    const args = [bytes16(id), bytes16(before.id), BigInt(before.amount)];
    await execute(first.chain, 'SavingsPool', contracts[type], 'deposit', args);
    const [after] = await first.sees<Transaction[]>(route, ([{ status }]) => status === 'CONFIRMED');
    const change = `${before.status} -> ${after.status} ${after.txHash?.slice(0, 18)}…`;
    say(`${type.padEnd(12)} ${tokens(after.amount)}: ${change}`);
  }

  const pool = pools.get('cooperative')!;
  const run = (chain: DevClient, name: string, ...args: unknown[]) =>
    execute(chain, 'SavingsPool', contracts.cooperative, name, [bytes16(pool), ...args]);
  const balance = async (expected: string): Promise<void> => {
    const amount = parseEther(expected).toString();
    const now = await first.sees<{ balance: string }>(`/pools/${pool}`, (found) => found.balance === amount);
    say(`balance: ${tokens(now.balance)}`);
  };
  const report = async (isExpected: (now: YieldReport) => boolean): Promise<void> => {
    const now = await first.sees<YieldReport>(`/pools/${pool}/yield`, isExpected);
    const claimable = `of them claimable ${tokens(now.claimableYield)}`;
    say(`yield: ${tokens(now.totalYield)}, ${claimable}; apr ${now.apr} %, apy ${now.apy} %`);
  };
  step('Second, a member of the cooperative pool, deposits 50 tokens into it');
  await run(second.chain, 'deposit', NONE, parseEther('50'));
  await balance('150');

  step('The contract earns 6 tokens of yield for it, at 5.25 %');
  await fund(owner, token, contracts.cooperative, parseEther('1000'));
  await run(owner, 'accrueYield', parseEther('6'), 525);
  await report((now) => now.totalYield !== '0');
  for (const { name, chain } of [first, second]) {
    const args = [bytes16(pool), chain.account.address];
    const share = await read<bigint>(owner, 'SavingsPool', contracts.cooperative, 'claimableOf', args);
    say(`${name} can claim ${formatEther(share)}, by balance and the seconds it was there`);
  }

  step('First claims its share and withdraws 30 tokens');
  await run(first.chain, 'claimYield', NONE);
  await run(first.chain, 'withdraw', NONE, parseEther('30'));
  await balance('120');
  await report((now) => now.lastClaimed !== null);

  step('A reorganisation drops the last deposit, which was 7 tokens, and it is sent again');
  await run(third.chain, 'deposit', NONE, parseEther('7'));
  await balance('127');
  await anvilRpc(owner, 'anvil_reorg', 1, []);
  say('the chain has forgotten the block');
  await balance('120');
  await run(third.chain, 'deposit', NONE, parseEther('7'));
  await balance('127');

  step('What the API says in the end');
  say(`all pools: ${JSON.stringify(await first.call('GET', '/analytics/pools'))}`);
  say(`First:     ${JSON.stringify(await first.call('GET', '/analytics/user'))}`);
  const health = await fetch(`${running.api}/health`);
  say(`health:    ${JSON.stringify(((await health.json()) as { services: unknown }).services)}`);
  await verify(running);
}

async function findRunning(): Promise<Running> {
  const running = readJson<Running>(path.resolve('.data', 'running.json'));
  const health = running && (await fetch(`${running.api}/health`).catch(() => undefined));
  if (!running || !health) throw new Error('The demo needs a running service: run `npm start` here first.');
  if (!running.deployment)
    throw new Error('The demo needs the chain of `npm start`: start it without RPC_URL.');
  return running;
}

/** Compares everything with the chain, as `npm run verify` does. @throws Error if something differs */
async function verify({ rpc, deployment, database }: Running): Promise<void> {
  step('Everything is verified against the events and the contracts');
  if (!database) return say('not here: DATABASE_URL names a database of your own, see npm run verify');
  const settings = { RPC_URL: rpc, POOL_CONTRACTS: poolContracts(deployment), DATABASE_URL: database };
  const env = { PATH: process.env.PATH, ...settings };
  const [code] = (await once(fork(path.join(__dirname, '../verify.js'), { env }), 'exit')) as [number | null];
  if (code !== 0) throw new Error('something differs');
}

const tokens = (amount: string): string => `${formatEther(BigInt(amount))} tokens`;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const step = (text: string): void => say(`\n== ${text}`);

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
