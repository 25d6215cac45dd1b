import { SiweMessage } from 'siwe';
import {
  type Address,
  type Hex,
  type PublicClient,
  isErc6492Signature,
  isHex,
  recoverMessageAddress,
  size,
  slice,
} from 'viem';

/** Why a sign-in was refused; for the log and the metric, never for the client. */
export class SignInRefused extends Error {
  constructor(
    readonly reason:
      'malformed' | 'domain' | 'uri' | 'chain' | 'not_yet_valid' | 'expired' | 'signature' | 'rpc' | 'nonce',
  ) {
    super(`sign-in refused: ${reason}`);
  }
}

export interface SiweRules {
  /** Hosts that may ask for a signature; empty: any (development only). */
  domains: string[];
  chainId?: number;
}

/**
 * Parses an EIP-4361 message strictly and checks everything but signature and nonce.
 * @throws SignInRefused
 */
export function parseSiweMessage(text: string, rules: SiweRules, now = new Date()): SiweMessage {
  let message: SiweMessage;
  try {
    message = new SiweMessage(text);
  } catch {
    throw new SignInRefused('malformed');
  }
  if (rules.domains.length > 0) {
    if (!rules.domains.includes(message.domain)) throw new SignInRefused('domain');
    // EIP-4361: the URI names the subject of the signing; a foreign one was made for another site.
    if (!rules.domains.includes(hostOf(message.uri))) throw new SignInRefused('uri');
  }
  if (rules.chainId !== undefined && message.chainId !== rules.chainId) throw new SignInRefused('chain');
  if (message.notBefore && !(now >= new Date(message.notBefore))) throw new SignInRefused('not_yet_valid');
  if (message.expirationTime && !(now < new Date(message.expirationTime))) throw new SignInRefused('expired');
  return message;
}

function hostOf(uri: string): string {
  try {
    return new URL(uri).host;
  } catch {
    return '';
  }
}

/** Half the order of secp256k1: signatures with a larger s are the malleated twins of valid ones (EIP-2). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Verifies an EIP-191 signature over the message: an EOA locally, so that it needs no RPC, and contract wallets
 * (EIP-1271, not yet deployed ones by ERC-6492) by the chain. Policy for EOAs: 65 bytes with low s; the compact
 * form of EIP-2098 is refused.
 * @throws SignInRefused when the chain had to be asked and did not answer
 */
export async function verifySignature(
  message: string,
  address: Address,
  signature: string,
  client: PublicClient | undefined,
): Promise<boolean> {
  if (!isHex(signature) || signature.length % 2 !== 0) return false;
  if (await isSignedByKey(message, address, signature)) return true;
  if (!client) return false;
  try {
    // For an address without code viem falls back to the key, and would take what the policy above refuses.
    if (!isErc6492Signature(signature) && !(await client.getCode({ address }))) return false;
    return await client.verifyMessage({ address, message, signature });
  } catch {
    throw new SignInRefused('rpc');
  }
}

async function isSignedByKey(message: string, address: Address, signature: Hex): Promise<boolean> {
  if (size(signature) !== 65 || BigInt(slice(signature, 32, 64)) > HALF_ORDER) return false;
  try {
    return (await recoverMessageAddress({ message, signature })).toLowerCase() === address.toLowerCase();
  } catch {
    return false;
  }
}
