import { type Address, getAddress, isAddress } from 'viem';
import type { TokenStore } from '../tokens.js';

/** The account that is signed in: the claim `address` of the token. undefined without a token that says so. */
export async function signedInAccount(tokens: TokenStore): Promise<Address | undefined> {
  const [, claims] = ((await tokens.get()) ?? '').split('.');
  if (!claims) return undefined;
  try {
    const { address } = JSON.parse(atob(claims.replace(/-/g, '+').replace(/_/g, '/'))) as {
      address?: unknown;
    };
    return typeof address === 'string' && isAddress(address, { strict: false })
      ? getAddress(address)
      : undefined;
  } catch {
    return undefined;
  }
}
