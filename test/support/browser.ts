import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core';
import { type Hex, type TransactionRequest, createWalletClient, defineChain, hexToBigInt, http } from 'viem';
import type { LocalAccount } from 'viem/accounts';
import { findChromium } from './chromium.js';

export interface TestWallet {
  account: LocalAccount;
  chainId: number;
  /** Transactions and reads go there; without it the wallet only signs. */
  rpcUrl?: string;
  /** Some wallets give the address without its checksum. */
  lowerCase?: boolean;
  /** Refuses what it is asked with code 4001, as when the user says no. */
  rejects?: boolean;
}

export interface PageOptions {
  wallet?: TestWallet;
  viewport?: { width: number; height: number };
}

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 900 };

/** A browser page that keeps what goes wrong in it. */
export interface WatchedPage extends Page {
  /** Errors and warnings of the console, exceptions, and requests that were refused or went to another host. */
  readonly complaints: string[];
}

/** A browser for the tests of a file; each `open` is a fresh profile. */
export function useBrowser(): { open: (url: string, options?: PageOptions) => Promise<WatchedPage> } {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: findChromium(),
      // It shows only what the tests serve, and root has no sandbox.
      chromiumSandbox: false,
      args: ['--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
    });
  });
  afterEach(() => Promise.all(contexts.splice(0).map((context) => context.close())));
  afterAll(() => browser?.close());
  return {
    async open(url, { wallet, viewport = DESKTOP } = {}) {
      const context = await browser!.newContext({ viewport, permissions: [] });
      contexts.push(context);
      const page = watch(await context.newPage(), new URL(url).host);
      if (wallet) await injectWallet(page, wallet);
      await page.goto(url);
      return page;
    },
  };
}

function watch(page: Page, host: string): WatchedPage {
  const complaints: string[] = [];
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type())) complaints.push(`${line.type()}: ${line.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
  page.on('requestfailed', (request) =>
    complaints.push(`failed: ${request.url()} ${request.failure()?.errorText}`),
  );
  page.on('request', (request) => {
    const { protocol, host: asked } = new URL(request.url());
    if (/^(https?|wss?):/.test(protocol) && asked !== host) complaints.push(`elsewhere: ${request.url()}`);
  });
  return Object.assign(page, { complaints });
}

/**
 * Gives the page a wallet as extensions do: `window.ethereum` (EIP-1193), also announced by EIP-6963. Keys stay in
 * this process, and what is signed is signed by a real account.
 */
export async function injectWallet(page: Page, wallet: TestWallet): Promise<void> {
  await page.exposeFunction('askTestWallet', async (method: string, params: unknown[]) => {
    try {
      return { result: await answer(wallet, method, params) };
    } catch (error) {
      const { code = -32603, message } = error as Error & { code?: number };
      return { error: { code, message } };
    }
  });
  // Text, as it runs in the page: the compiler here knows no DOM.
  await page.addInitScript(`(() => {
    const listeners = new Map();
    const on = (event, listener) => listeners.set(event, [...(listeners.get(event) ?? []), listener]);
    const removeListener = (event, listener) =>
      listeners.set(event, (listeners.get(event) ?? []).filter((each) => each !== listener));
    const request = async ({ method, params = [] }) => {
      const { result, error } = await window.askTestWallet(method, params);
      if (error) throw Object.assign(new Error(error.message), { code: error.code });
      return result;
    };
    const provider = { request, on, removeListener };
    Object.defineProperty(window, 'ethereum', { value: provider });
    const info = { uuid: '350670db-19fa-4704-a166-e52e178b59d2', name: 'Test wallet', icon: 'data:,', rdns: 'test.wallet' };
    const announce = () =>
      window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
    window.addEventListener('eip6963:requestProvider', announce);
    announce();
  })()`);
}

async function answer(wallet: TestWallet, method: string, params: unknown[]): Promise<unknown> {
  const { account, chainId, rpcUrl, lowerCase, rejects } = wallet;
  const address = lowerCase ? account.address.toLowerCase() : account.address;
  if (rejects) throw Object.assign(new Error('User rejected the request.'), { code: 4001 });
  switch (method) {
    case 'eth_requestAccounts':
    case 'eth_accounts':
      return [address];
    case 'eth_chainId':
      return `0x${chainId.toString(16)}`;
    case 'wallet_switchEthereumChain':
    case 'wallet_addEthereumChain':
      return null;
    case 'personal_sign':
      // EIP-191 over the bytes; wallets take text in hex.
      return account.signMessage({ message: { raw: params[0] as Hex } });
    case 'eth_signTypedData_v4':
      return account.signTypedData(JSON.parse(params[1] as string) as never);
    case 'eth_sendTransaction': {
      const { to, data, value = '0x0', gas } = params[0] as Record<'to' | 'data' | 'value' | 'gas', Hex>;
      const transaction = { to, data, value: hexToBigInt(value), ...(gas && { gas: hexToBigInt(gas) }) };
      return client(wallet).sendTransaction(transaction as TransactionRequest as never);
    }
    default:
      if (!rpcUrl) throw Object.assign(new Error(`${method} is not supported`), { code: 4200 });
      return client(wallet).request({ method, params } as never);
  }
}

function client({ account, chainId: id, rpcUrl }: TestWallet) {
  if (!rpcUrl) throw Object.assign(new Error('This wallet has no chain.'), { code: 4900 });
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const chain = defineChain({ id, name: 'test', nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
  return createWalletClient({ account, chain, transport: http(rpcUrl) });
}
