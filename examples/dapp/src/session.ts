import {
  type ClientConfig,
  type CurrentDraw,
  type DrawEntry,
  type Payer,
  type PoolItem,
  type Position,
  type Transaction,
  type UserAnalytics,
  type Winner,
  SavingsClient,
  isSavingsError,
  webTokens,
} from '@pooled-savings/client';
import { type Address, createPublicClient, custom, erc20Abi } from 'viem';
import type { Token } from './format.js';
import type { WalletChoice } from './wallets.js';

/** Under the page's own address; `npm start` forwards these requests. */
const API = 'api';
const WALLET_KEY = 'wallet';
const CONFIG_POLL_MS = 1_000;
const SHOWN_TRANSACTIONS = 8;
const SHOWN_WINNERS = 3;

// For this tab only. Every script of the page can read the token, so the page's policy allows no foreign scripts.
export const client = new SavingsClient({
  baseUrl: new URL(API, location.href).href,
  tokens: webTokens(sessionStorage),
});

/** A config that contains everything that the indexer must first read from the chain. */
export type ReadyConfig = ClientConfig & { token: Token; chainId: number };

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
  for (;;) {
    const config = await client.config();
    if (config.token !== null && config.chainId !== null) return config as ReadyConfig;
    await new Promise((resolve) => setTimeout(resolve, CONFIG_POLL_MS));
  }
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

/** Resumes this tab's session after the page was reloaded. */
export async function resume(wallets: readonly WalletChoice[]): Promise<Session | undefined> {
  const wallet = wallets.find(({ id }) => id === sessionStorage.getItem(WALLET_KEY));
  if (!wallet || !(await client.isSignedIn())) return undefined;
  try {
    const { address } = await client.account.me();
    return { address, wallet, payer: wallet.connect() };
  } catch (error) {
    if (!isSavingsError(error) || !('status' in error) || error.status !== 401) throw error;
    await client.tokens.set(null);
    return undefined;
  }
}

export async function signOut(): Promise<void> {
  sessionStorage.removeItem(WALLET_KEY);
  await client.signOut();
}

export async function readHoldings({ address, payer }: Session, { token }: ReadyConfig): Promise<Holdings> {
  const [analytics, pools, positions, transactions, draw, entries, winners, inWallet] = await Promise.all([
    client.account.analytics(),
    client.pools.list({ limit: 50 }),
    client.account.positions({ limit: 100 }),
    client.transactions.list({ limit: SHOWN_TRANSACTIONS }),
    client.lottery.current().catch(noDraw),
    client.lottery.mine({ limit: 5 }),
    client.lottery.winners({ limit: SHOWN_WINNERS }),
    tokensOf(payer, token, address),
  ]);
  return {
    analytics,
    pools: pools.data,
    positions: new Map(positions.data.map((each) => [each.poolId, each])),
    transactions: transactions.data,
    draw,
    entries: entries.data,
    winners: winners.data,
    inWallet,
  };
}

function noDraw(error: unknown): null {
  if (isSavingsError(error) && error.code === 'no_open_draw') return null;
  throw error;
}

async function tokensOf(payer: Payer, token: Token, address: string): Promise<bigint | null> {
  try {
    return await createPublicClient({ transport: custom(payer as never) }).readContract({
      address: token.address as Address,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [address as Address],
    });
  } catch {
    return null;
  }
}
