import { type Address, type EIP1193Provider, createWalletClient, custom, getAddress } from 'viem';
import type { WalletClient } from 'viem';

/** An account that signs by itself, such as the result of viem's `privateKeyToAccount`. */
export interface SigningAccount {
  readonly address: Address;
  signMessage(parameters: { message: string }): Promise<`0x${string}`>;
}

/** The part of EIP-1193 that is used here. */
export type WalletProvider = Pick<EIP1193Provider, 'request'>;

/** Anything that can sign in: a browser wallet, a viem wallet client, or an account. */
export type Signer = WalletProvider | WalletClient | SigningAccount;
/** Anything that can pay: a browser wallet, or a viem wallet client with an account. */
export type Payer = WalletProvider | WalletClient;

export const isWalletClient = (wallet: Signer): wallet is WalletClient => 'sendTransaction' in wallet;
const isAccount = (wallet: Signer): wallet is SigningAccount =>
  'signMessage' in wallet && 'address' in wallet;

/** Returns a viem wallet client for a payer. A browser wallet is asked to connect an account to this page. */
export async function walletClientOf(wallet: Payer): Promise<WalletClient> {
  if (isWalletClient(wallet)) return wallet;
  const [account] = await wallet.request({ method: 'eth_requestAccounts' });
  return createWalletClient({ account, transport: custom(wallet) });
}

/** The signing address with its EIP-55 checksum, the function that signs, and the wallet's chain if it has one. */
export async function signerOf(wallet: Signer): Promise<{
  address: Address;
  chainId: () => Promise<number | undefined>;
  sign: (message: string) => Promise<`0x${string}`>;
}> {
  if (isAccount(wallet) && !isWalletClient(wallet))
    return {
      address: getAddress(wallet.address),
      chainId: () => Promise.resolve(undefined),
      sign: (message) => wallet.signMessage({ message }),
    };
  const client = await walletClientOf(wallet);
  const account = client.account ?? (await client.requestAddresses())[0];
  return {
    address: getAddress(typeof account === 'string' ? account : account.address),
    chainId: () => client.getChainId(),
    sign: (message) => client.signMessage({ account, message }),
  };
}
