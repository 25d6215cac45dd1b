import { Injectable, Optional } from '@nestjs/common';
import {
  type Address,
  type Hex,
  bytesToHex,
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  hashMessage,
  hexToBytes,
  isErc6492Signature,
  isHex,
  keccak256,
  parseAbi,
  slice,
} from 'viem';
import { recover } from 'tiny-secp256k1';
import { CallReverted, ChainRpc, ChainUnavailable } from '#ledger/chain/chain-rpc';
import { SignInRefused } from './sign-in-refused';

/** Half the order of secp256k1. A signature with a larger s is the malleated twin of a valid one (EIP-2). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
/** By the last byte of a signature. */
const RECOVERY_IDS = new Map<number, 0 | 1>([
  [0, 0],
  [1, 1],
  [27, 0],
  [28, 1],
]);
/** The end of an ERC-8010 signature, which carries an EIP-7702 authorization and calls. */
const ERC8010_SUFFIX = '8010'.repeat(16);

/** Whether it is hex of whole bytes, and not in a form that is always refused. */
export const isSignature = (signature: string): signature is Hex =>
  isHex(signature) && signature.length % 2 === 0 && !signature.endsWith(ERC8010_SUFFIX);

/**
 * Verifies an EIP-191 signature of a key (EOA) without the chain. Policy: low s; 65 bytes, or the same in the 64 bytes of
 * EIP-2098.
 */
export function isSignedByKey(message: string, address: Address, signature: Hex): boolean {
  const parts = partsOf(hexToBytes(signature));
  if (!parts || BigInt(bytesToHex(parts.rs.subarray(32))) > HALF_ORDER) return false;
  try {
    // libsecp256k1, because what viem uses takes six times as long, in which nobody else is served.
    const key = recover(hexToBytes(hashMessage(message)), parts.rs, parts.recovery, false);
    return key !== null && slice(keccak256(key.subarray(1)), 12) === address.toLowerCase();
  } catch {
    // A part of the signature is zero or not below the order, or r is on no point of the curve.
    return false;
  }
}

/** r and s, 32 bytes each, and which of two keys it is. */
function partsOf(signature: Uint8Array): { rs: Uint8Array; recovery: 0 | 1 } | undefined {
  const rs = signature.slice(0, 64);
  if (signature.length === 64) {
    // EIP-2098: a low s leaves its highest bit free for the recovery id.
    const recovery = (rs[32] >> 7) as 0 | 1;
    rs[32] &= 0x7f;
    return { rs, recovery };
  }
  const recovery = signature.length === 65 ? RECOVERY_IDS.get(signature[64]) : undefined;
  return recovery === undefined ? undefined : { rs, recovery };
}

/** Simultaneous checks on the chain. A hanging node delays each by seconds, and more checks would only wait too. */
export const MAX_CHECKS = 16;

/** Asks the chain whether a contract wallet accepts a signature. */
@Injectable()
export class ContractWallets {
  private checks = 0;

  constructor(@Optional() private readonly chain?: ChainRpc) {}

  /**
   * Checks at the latest block: by EIP-1271, at the wallet itself, or by the ERC-6492 validator where the signature says how
   * the wallet is deployed. A wallet that reverts with OffchainLookup (EIP-3668) counts as refusing, and the URLs that it
   * names are not called.
   * @throws SignInRefused when the chain did not answer, or at once when `MAX_CHECKS` are running
   */
  async verify(message: string, address: Address, signature: Hex): Promise<boolean> {
    if (!this.chain) return false;
    if (this.checks >= MAX_CHECKS) throw new SignInRefused('busy');
    this.checks++;
    try {
      return await this.ask(this.chain, message, address, signature);
    } catch (error) {
      if (error instanceof CallReverted) return false;
      if (error instanceof ChainUnavailable) throw new SignInRefused('rpc');
      throw error;
    } finally {
      this.checks--;
    }
  }

  private async ask(chain: ChainRpc, message: string, address: Address, signature: Hex): Promise<boolean> {
    const deadline = ChainRpc.deadline();
    const request = (method: string, parameter: unknown): Promise<unknown> =>
      chain.request(method, [parameter, 'latest'], deadline);
    const hash = hashMessage(message);
    if (isErc6492Signature(signature)) {
      const args = [address, hash, signature] as const;
      const bytecode = erc6492SignatureValidatorByteCode;
      const data = encodeDeployData({ abi: erc6492SignatureValidatorAbi, bytecode, args });
      return isTrue(await request('eth_call', { data }));
    }
    if (!hasCode(await request('eth_getCode', address))) return false;
    // Signatures of contracts have any length: of a message that was approved on the chain, none.
    const data = encodeFunctionData({ abi: EIP1271, args: [hash, signature] });
    return isMagicValue(await request('eth_call', { to: address, data }));
  }
}

const EIP1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']);

const hasCode = (code: unknown): boolean => typeof code === 'string' && code.length > 2;

/** The function's selector, as a word of 32 bytes. */
const isMagicValue = (result: unknown): boolean =>
  typeof result === 'string' && /^0x1626ba7e0{56}/i.test(result);

/** The validator answers with one byte. */
const isTrue = (result: unknown): boolean => typeof result === 'string' && /^0x0*1$/.test(result);
