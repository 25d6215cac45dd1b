import {
  type Account,
  type Address,
  type Client,
  type WalletClient,
  createClient,
  custom,
  getAddress,
  http,
  isAddressEqual,
} from 'viem';
import { addChain, getCode, switchChain } from 'viem/actions';
import { AccountMismatchError, WrongChainError } from '../errors.js';
import type { ClientConfig } from '../types.js';
import { type Payer, walletClientOf } from '../wallet.js';
import { isUnknownChain, lacksMethod } from './wallet-errors.js';

/** A payment's wallet, and how it reads the chain. */
export interface ChainAccess {
  readonly chainId: number;
  /** Reads the chain: by the wallet, or by a public node where the wallet cannot or is on another chain. */
  readonly reader: Client;
  readonly wallet?: WalletClient;
  /** What the person has changed in the wallet, so that it does not fit the payment any more. */
  attention(account: Address): Promise<'account' | 'chain' | undefined>;
}

const POLLING_MS = 2_000;

/** Does not ask the wallet for anything yet. */
export function chainAccess(wallet: Payer | undefined, chainId: number, config?: ClientConfig): ChainAccess {
  const client = wallet && walletClientOf(wallet);
  const url = config && (config.rpcUrl ?? config.chain?.rpcUrls[0]);
  const node = url === undefined ? undefined : createClient({ transport: http(url) });
  const request = async (asked: { method: string; params?: unknown }): Promise<unknown> => {
    const actual = await client?.getChainId().catch((error: unknown) => {
      // A wallet that does not answer keeps nobody from reading.
      if (!node) throw error;
      return undefined;
    });
    if (client && actual === chainId)
      try {
        return await client.request(asked as never, { retryCount: 0 });
      } catch (error) {
        if (!node || !lacksMethod(error)) throw error;
      }
    if (node) return node.request(asked as never);
    throw new WrongChainError(chainId, actual ?? 0);
  };
  const { pollingInterval = POLLING_MS } = (wallet ?? {}) as { pollingInterval?: number };
  const reader = createClient({ transport: custom({ request }, { retryCount: 0 }), pollingInterval });
  const attention = async (account: Address): Promise<'account' | 'chain' | undefined> => {
    if (!client) return undefined;
    if ((await client.getChainId()) !== chainId) return 'chain';
    if (client.account?.type === 'local') return undefined;
    const addresses = await client.getAddresses();
    return addresses.some((each) => isAddressEqual(each, account)) ? undefined : 'account';
  };
  return { chainId, reader, wallet: client, attention };
}

/**
 * The account that pays: the one that is signed in, if the wallet has it among its accounts.
 * @throws AccountMismatchError
 */
export async function payingAccount(wallet: WalletClient, expected?: Address): Promise<Account | Address> {
  const { account } = wallet;
  if (account?.type === 'local') {
    if (expected && !isAddressEqual(account.address, expected))
      throw new AccountMismatchError(expected, account.address);
    return account;
  }
  const listed = await wallet.getAddresses();
  const addresses = listed.length > 0 ? listed : await wallet.requestAddresses();
  if (!expected) return account ?? getAddress(addresses[0]);
  if (!addresses.some((each) => isAddressEqual(each, expected)))
    throw new AccountMismatchError(expected, account?.address ?? addresses[0]);
  return getAddress(expected);
}

/**
 * Has the wallet change to the chain, and adds it to a wallet that does not know it.
 * @throws WrongChainError
 */
export async function changeChain(wallet: WalletClient, id: number, config?: ClientConfig): Promise<void> {
  const actual = await wallet.getChainId();
  if (actual === id) return;
  const chain = config?.chain;
  try {
    await switchChain(wallet, { id });
  } catch (error) {
    if (!isUnknownChain(error) || chain?.id !== id || chain.rpcUrls.length === 0)
      throw new WrongChainError(id, actual, error);
    try {
      const { name, currency: nativeCurrency, rpcUrls, explorerUrl: url } = chain;
      const blockExplorers = url === null ? undefined : { default: { name, url } };
      await addChain(wallet, {
        chain: { id, name, nativeCurrency, rpcUrls: { default: { http: rpcUrls } }, blockExplorers },
      });
      // To add a chain does not mean to change to it.
      if ((await wallet.getChainId()) !== id) await switchChain(wallet, { id });
    } catch (again) {
      throw new WrongChainError(id, actual, again);
    }
  }
  // Some wallets report success before they have switched, or without switching.
  const changed = await wallet.getChainId();
  if (changed !== id) throw new WrongChainError(id, changed);
}

export const addressOf = (account: Account | Address): Address =>
  typeof account === 'string' ? account : account.address;

const DELEGATED = '0xef0100';

/** Whether the account is a contract. Accounts that delegate to one (EIP-7702) still send and sign by themselves. */
export async function isContract(reader: Client, address: Address): Promise<boolean> {
  const code = await getCode(reader, { address });
  return code !== undefined && code !== '0x' && !code.startsWith(DELEGATED);
}
