import type { Page } from 'playwright-core';
import {
  type Hash,
  type Hex,
  type TransactionRequest,
  createWalletClient,
  defineChain,
  hexToBigInt,
  http,
  numberToHex,
  publicActions,
} from 'viem';
import type { LocalAccount } from 'viem/accounts';

/** A browser's wallet. Tests change its fields while a page uses it, as its user does. */
export interface TestWallet {
  account: LocalAccount;
  chainId: number;
  /** Transactions and reads go there; without it the wallet only signs. */
  rpcUrl?: string;
  /** Nodes of the other chains that it knows. Without them it takes its own node for every chain. */
  chains?: Record<number, string | undefined>;
  /** Some wallets give the address without its checksum. */
  lowerCase?: boolean;
  /** Refuses what it asks its user with code 4001, as when the user says no. */
  rejects?: boolean;
  /** Its window stays open until this resolves. */
  open?: Promise<void>;
  /** Sends several calls at once (EIP-5792). */
  batches?: boolean;
  /** Says of each batch that it is on its way. */
  isSlow?: boolean;
  /** Signs no typed data, so that tokens are approved by a transaction. */
  lacksPermits?: boolean;
  /** What its user was asked, by method. */
  asked?: string[];
}

/** What opens a window of the wallet. */
const ASKS = new Set([
  'eth_requestAccounts',
  'personal_sign',
  'eth_signTypedData_v4',
  'eth_sendTransaction',
  'wallet_sendCalls',
  'wallet_switchEthereumChain',
  'wallet_addEthereumChain',
]);

type Call = Record<'to' | 'data' | 'value' | 'gas', Hex | undefined>;

const failure = (code: number, message: string): Error => Object.assign(new Error(message), { code });

/**
 * Gives the page a wallet as extensions do: `window.ethereum` (EIP-1193), also announced by EIP-6963. Keys stay in
 * this process, and what is signed is signed by a real account.
 */
export async function injectWallet(page: Page, wallet: TestWallet): Promise<void> {
  await page.exposeFunction('askTestWallet', async (method: string, params: unknown[]) => {
    try {
      return { result: await answer(page, wallet, method, params) };
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
    window.tellOfTestWallet = (event, value) => (listeners.get(event) ?? []).forEach((listener) => listener(value));
    const info = { uuid: '350670db-19fa-4704-a166-e52e178b59d2', name: 'Test wallet', icon: 'data:,', rdns: 'test.wallet' };
    const announce = () =>
      window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
    window.addEventListener('eip6963:requestProvider', announce);
    announce();
  })()`);
}

const tell = (page: Page, event: string, value: unknown): Promise<unknown> =>
  page.evaluate(`window.tellOfTestWallet(${JSON.stringify(event)}, ${JSON.stringify(value)})`);

/** The user chooses another account in the wallet. */
export async function changeAccount(page: Page, wallet: TestWallet, account: LocalAccount): Promise<void> {
  wallet.account = account;
  await tell(page, 'accountsChanged', [account.address]);
}

/** The user chooses another chain in the wallet. */
export async function changeChain(page: Page, wallet: TestWallet, id: number): Promise<void> {
  if (wallet.chains) {
    wallet.chains = { [wallet.chainId]: wallet.rpcUrl, ...wallet.chains };
    wallet.rpcUrl = wallet.chains[id];
  }
  wallet.chainId = id;
  await tell(page, 'chainChanged', numberToHex(id));
}

async function answer(
  page: Page,
  wallet: TestWallet,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  if (ASKS.has(method)) {
    wallet.asked?.push(method);
    await wallet.open;
    if (wallet.rejects) throw failure(4001, 'User rejected the request.');
  }
  const { account, chainId, rpcUrl, lowerCase, batches } = wallet;
  const address = lowerCase ? account.address.toLowerCase() : account.address;
  switch (method) {
    case 'eth_requestAccounts':
    case 'eth_accounts':
      return [address];
    case 'eth_chainId':
      return numberToHex(chainId);
    case 'wallet_switchEthereumChain': {
      const id = Number((params[0] as { chainId: Hex }).chainId);
      if (wallet.chains && id !== chainId && !(id in wallet.chains))
        throw failure(4902, `Unrecognized chain ID ${id}.`);
      if (id !== chainId) await changeChain(page, wallet, id);
      return null;
    }
    case 'wallet_addEthereumChain': {
      const { chainId: id, rpcUrls } = params[0] as { chainId: Hex; rpcUrls: string[] };
      wallet.chains = { ...wallet.chains, [Number(id)]: rpcUrls[0] };
      await changeChain(page, wallet, Number(id));
      return null;
    }
    case 'personal_sign':
      // EIP-191 over the bytes; wallets take text in hex.
      return account.signMessage({ message: { raw: params[0] as Hex } });
    case 'eth_signTypedData_v4':
      if (wallet.lacksPermits) throw failure(4200, `${method} is not supported`);
      return account.signTypedData(JSON.parse(params[1] as string) as never);
    case 'eth_sendTransaction':
      return send(wallet, params[0] as Call);
    case 'wallet_getCapabilities':
      if (!batches) throw failure(4200, `${method} is not supported`);
      return { [numberToHex(chainId)]: { atomic: { status: 'supported' } } };
    case 'wallet_sendCalls': {
      if (!batches) throw failure(4200, `${method} is not supported`);
      const hashes: Hash[] = [];
      // No gas is estimated: earlier calls may not be mined yet.
      for (const call of (params[0] as { calls: Call[] }).calls)
        hashes.push(await send(wallet, { ...call, gas: '0x7a120' }));
      // All hashes stand in the batch's id: nothing has to be kept.
      return { id: `0x${hashes.map((hash) => hash.slice(2)).join('')}` };
    }
    case 'wallet_getCallsStatus':
      return statusOf(wallet, params[0] as Hex);
    default:
      if (!rpcUrl) throw failure(4200, `${method} is not supported`);
      return client(wallet).request({ method, params } as never);
  }
}

const send = (wallet: TestWallet, { to, data, value = '0x0', gas }: Call): Promise<Hash> =>
  client(wallet).sendTransaction({
    to,
    data,
    value: hexToBigInt(value),
    ...(gas && { gas: hexToBigInt(gas) }),
  } as TransactionRequest as never);

async function statusOf(wallet: TestWallet, id: Hex): Promise<unknown> {
  const hashes = id.slice(2).match(/.{64}/g) ?? [];
  const receiptOf = (hash: string): Promise<{ status: Hex } | null> =>
    client(wallet).request({ method: 'eth_getTransactionReceipt', params: [`0x${hash}`] } as never);
  const receipts = await Promise.all(hashes.map(receiptOf));
  const mined = receipts.filter((receipt) => receipt !== null);
  const status =
    wallet.isSlow || mined.length < hashes.length
      ? 100
      : mined.every((each) => each.status === '0x1')
        ? 200
        : 500;
  return {
    version: '2.0.0',
    id,
    chainId: numberToHex(wallet.chainId),
    atomic: true,
    status,
    receipts: wallet.isSlow ? [] : mined,
  };
}

function client({ account, chainId: id, rpcUrl }: TestWallet) {
  if (!rpcUrl) throw failure(4900, 'This wallet has no chain.');
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const chain = defineChain({ id, name: 'test', nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
  return createWalletClient({ account, chain, transport: http(rpcUrl) }).extend(publicActions);
}
