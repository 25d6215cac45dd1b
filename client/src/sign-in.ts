import { createSiweMessage } from 'viem/siwe';
import type { Api, ClientConfig, SignedInUser } from './types.js';
import { type Signer, signerOf } from './wallet.js';

export interface SignInOptions {
  /** Host that asks for the signature; the page's own by default, outside of pages the first that the service accepts. */
  domain?: string;
  /** Address of what is signed in to; that of the domain by default. */
  uri?: string;
  /** The one that the service asks for by default, else the wallet's. */
  chainId?: number;
  /** A line for people, shown by the wallet. */
  statement?: string;
  signal?: AbortSignal;
}

/** The page this runs in; undefined outside of browsers. */
const page = (): { host: string; origin: string } | undefined =>
  (globalThis as { location?: { host: string; origin: string } }).location;

/** The dialogue of EIP-4361: a nonce for the address, the message, its signature, the token. */
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

/** As production accepts it: http for this machine only. */
const schemeOf = (host: string): 'http' | 'https' =>
  /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(host) ? 'http' : 'https';
