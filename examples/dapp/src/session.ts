import {
  type ClientConfig,
  type CurrentDraw,
  type DrawEntry,
  type Payer,
  type PoolAnalytics,
  type PoolItem,
  type Position,
  type Start,
  type Transaction,
  type UserAnalytics,
  type Winner,
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
export const callsAt = ({ contractCalls }: Pick<ClientConfig, 'contractCalls'>, contract: string): Calls =>
  contractCalls[contract] ?? ['deposit', 'withdraw', 'claim', 'compounding'];

/** Whether what was earned there is taken out with what earned it. */
export const isVault = (calls: Calls): boolean => calls.includes('withdraw') && !calls.includes('claim');

export interface Session {
  address: string;
  wallet: WalletChoice;
  payer: Payer;
}

/** Everything that is shown about the user. */
export interface Holdings {
  analytics: UserAnalytics;
  pools: readonly PoolItem[];
  positions: ReadonlyMap<string, Position>;
  transactions: readonly Transaction[];
  draw: CurrentDraw | null;
  entries: readonly DrawEntry[];
  winners: readonly Winner[];
  /** Tokens in the wallet; null if they cannot be read. */
  inWallet: bigint | null;
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

/** The page says by `client.connection` what is the matter, and goes on by itself. */
function unlessItPasses(error: unknown): undefined {
  if (isSavingsError(error) && error.code === 'no_answer') return;
  if (error instanceof ApiError && (error.status === 429 || error.status >= 500)) return;
  throw error;
}

export async function signIn(wallet: WalletChoice): Promise<Session> {
  const payer = wallet.connect();
  const { address } = await client.signIn(payer, {
    renew: true,
    statement: 'Sign in to pooled savings.',
  });
  sessionStorage.setItem(WALLET_KEY, wallet.id);
  return { address, wallet, payer };
}

/** Resumes this tab's session after the page was reloaded. The token says whose it is; the first read, if it holds. */
export function resume(wallets: readonly WalletChoice[]): Session | undefined {
  const wallet = wallets.find(({ id }) => id === sessionStorage.getItem(WALLET_KEY));
  const { address } = client.session.state;
  return wallet && address ? { address, wallet, payer: wallet.connect() } : undefined;
}

export async function signOut(): Promise<void> {
  sessionStorage.removeItem(WALLET_KEY);
  await client.signOut();
}

export const holdingsOf = (
  { analytics, pools, positions, transactions, draw, entries, winners }: Start,
  inWallet: bigint | null,
): Holdings => ({
  analytics,
  pools: pools.data,
  positions: new Map(positions.data.map((each) => [each.poolId, each])),
  transactions: transactions.data,
  draw,
  entries: entries.data,
  winners: winners.data,
  inWallet,
});

/** What every visitor may see, where the service shows it. */
export interface Public {
  analytics: PoolAnalytics;
  draw: CurrentDraw | null;
}

export async function readPublic(): Promise<Public> {
  const [{ data }, draw] = await Promise.all([
    client.api.GET('/analytics/pools'),
    client.lottery.current().catch(noDraw),
  ]);
  return { analytics: data!.data, draw };
}

function noDraw(error: unknown): null {
  if (isSavingsError(error) && error.code === 'no_open_draw') return null;
  throw error;
}

export async function walletBalance(payer: Payer, token: Token, address: string): Promise<bigint | null> {
  const chain = createClient({ transport: custom(payer as never) });
  try {
    if (token.address === NATIVE_COIN) return await getBalance(chain, { address: address as Address });
    return await readContract(chain, {
      address: token.address as Address,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [address as Address],
    });
  } catch {
    return null;
  }
}
