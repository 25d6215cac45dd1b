import {
  type ClientConfig,
  type CurrentDraw,
  type Payer,
  type PoolAnalytics,
  ApiError,
  NATIVE_COIN,
  SavingsClient,
  isSavingsError,
  webPayments,
  webTokens,
} from '@pooled-savings/client';
import { type Address, createClient, custom, erc20Abi } from 'viem';
import { getBalance, readContract } from 'viem/actions';
import type { Token } from './format.js';
import type { LocalChain } from './local/chain.js';
import type { WalletChoice } from './wallets.js';

/** Under the page's own address; `npm start` forwards these requests. */
const API = 'api';
const WALLET_KEY = 'wallet';
/** While the service has not read its chain, or cannot be reached: rarely enough for its limits. */
const FIRST_CONFIG_POLL_MS = 1_000;
const MOST_CONFIG_POLL_MS = 60_000;

// For this tab only. Every script of the page can read the token, so the page's policy allows no foreign scripts.
export const client = new SavingsClient({
  baseUrl: new URL(API, location.href).href,
  tokens: webTokens(sessionStorage),
  payments: webPayments(localStorage),
});

/** A config that contains everything that the indexer must first read from the chain. */
type KnownConfig = ClientConfig & { token: Token; chainId: number };
export type LocalConfig = KnownConfig & { rpcUrl: string };
/** With the tools of the chain of the same machine, which no other page loads. */
export type ReadyConfig = KnownConfig & { local?: LocalChain };

export type Calls = ClientConfig['contractCalls'][string];

/** The calls that the service builds for pools of a contract. One that is not read yet is taken for one of ours. */
export const callsAt = ({ contractCalls }: ClientConfig, contract: string): Calls =>
  contractCalls[contract] ?? ['deposit', 'withdraw', 'claim', 'compounding'];

/** Whether what was earned there is taken out with what earned it. */
export const isVault = (calls: Calls): boolean => calls.includes('withdraw') && !calls.includes('claim');

export interface Session {
  /** In lower case, as the service writes addresses. */
  address: string;
  payer: Payer;
}

export async function readyConfig(): Promise<ReadyConfig> {
  for (let pauseMs = FIRST_CONFIG_POLL_MS; ; pauseMs = Math.min(MOST_CONFIG_POLL_MS, pauseMs * 2)) {
    const config = await client.config().catch(unlessItPasses);
    if (config && config.token !== null && config.chainId !== null) return withTools(config as KnownConfig);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

async function withTools(config: KnownConfig): Promise<ReadyConfig> {
  if (config.rpcUrl === undefined) return config;
  const { LocalChain } = await import('./local/chain.js');
  return { ...config, local: new LocalChain(config as LocalConfig) };
}

/** The page shows `client.connection` meanwhile, and continues automatically. */
function unlessItPasses(error: unknown): undefined {
  if (isSavingsError(error) && error.code === 'no_answer') return;
  if (error instanceof ApiError && (error.status === 429 || error.status >= 500)) return;
  throw error;
}

export async function signIn(wallet: WalletChoice): Promise<Session> {
  const payer = wallet.connect();
  const { address } = await client.signIn(payer, { renew: true, statement: 'Sign in to pooled savings.' });
  sessionStorage.setItem(WALLET_KEY, wallet.id);
  return { address: address.toLowerCase(), payer };
}

/** Resumes this tab's session after the page was reloaded. The token says whose it is; the first read, if it holds. */
export function resume(wallets: readonly WalletChoice[]): Session | undefined {
  const wallet = wallets.find(({ id }) => id === sessionStorage.getItem(WALLET_KEY));
  const { address } = client.session.state;
  return wallet && address ? { address, payer: wallet.connect() } : undefined;
}

export async function signOut(): Promise<void> {
  sessionStorage.removeItem(WALLET_KEY);
  await client.signOut();
}

/** What every visitor may see, where the service shows it. */
export async function readPublic(): Promise<{ analytics: PoolAnalytics; draw: CurrentDraw | null }> {
  const [{ data }, draw] = await Promise.all([
    client.api.GET('/analytics/pools'),
    // No draw may be open.
    client.lottery.current().catch(() => null),
  ]);
  return { analytics: data!.data, draw };
}

/** What the wallet has of the token; null if it cannot be read. */
export async function walletBalance({ payer, address }: Session, token: Token): Promise<bigint | null> {
  const chain = createClient({ transport: custom(payer as never) });
  const account = address as Address;
  const read =
    token.address === NATIVE_COIN
      ? getBalance(chain, { address: account })
      : readContract(chain, {
          ...{ address: token.address as Address, abi: erc20Abi, functionName: 'balanceOf', args: [account] },
        });
  return read.catch(() => null);
}
