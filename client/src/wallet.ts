import {
  type Address,
  type EIP1193Provider,
  type WalletClient,
  createWalletClient,
  custom,
  getAddress,
} from 'viem';

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

/** A viem wallet client. Without retries: a request of which the outcome is unknown may have asked the person already. */
export const walletClientOf = (wallet: Payer): WalletClient =>
  isWalletClient(wallet) ? wallet : createWalletClient({ transport: custom(wallet, { retryCount: 0 }) });

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
  const client = walletClientOf(wallet);
  // A browser wallet is asked to connect an account to this page.
  const account = client.account ?? (await client.requestAddresses())[0];
  return {
    address: getAddress(typeof account === 'string' ? account : account.address),
    chainId: () => client.getChainId(),
    sign: (message) => client.signMessage({ account, message }),
  };
}
