import { createSiweMessage } from 'viem/siwe';
import type { Api, ClientConfig, SignedInUser } from './types.js';
import { type Signer, signerOf } from './wallet.js';

export interface SignInOptions {
  /**
   * Host that asks for the signature. Default: the page's own, or outside of pages the first one that the service
   * accepts.
   */
  domain?: string;
  /** Address of what the user signs in to. Default: the domain's. */
  uri?: string;
  /** Default: the chain that the service asks for, else the wallet's. */
  chainId?: number;
  /** A line for people, which the wallet shows. */
  statement?: string;
  signal?: AbortSignal;
}

/** The page that this runs in; undefined outside of browsers. */
const page = (): { host: string; origin: string } | undefined =>
  (globalThis as { location?: { host: string; origin: string } }).location;

/** Signs in as EIP-4361 describes: a nonce for the address, the message, its signature, the token. */
export async function signIn(
  api: Api,
  config: ClientConfig,
  baseUrl: string,
  wallet: Signer,
  { domain, uri, chainId, statement, signal }: SignInOptions,
): Promise<{ token: string; user: SignedInUser }> {
  const signer = await signerOf(wallet);
  const host = domain ?? page()?.host ?? config.signIn.domains[0] ?? new URL(baseUrl).host;
  const { data: issued } = await api.POST('/auth/nonce', { body: { address: signer.address }, signal });
  const message = createSiweMessage({
    address: signer.address,
    chainId: chainId ?? config.signIn.chainId ?? (await signer.chainId()) ?? config.chainId ?? 1,
    domain: host,
    nonce: issued!.data.nonce,
    uri: uri ?? (domain === undefined ? page()?.origin : undefined) ?? `${schemeOf(host)}://${host}`,
    version: '1',
    statement,
  });
  const signature = await signer.sign(message);
  const { data: verified } = await api.POST('/auth/verify', { body: { message, signature }, signal });
  return verified!.data;
}

/** As production requires: http only for this machine. */
const schemeOf = (host: string): 'http' | 'https' =>
  /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(host) ? 'http' : 'https';
