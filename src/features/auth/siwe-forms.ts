import { getAddress } from 'viem';

/** A line of its own without a statement stands between two empty ones. With `Version` behind, this one is no statement. */
const ONE_EMPTY_LINE = /^([^\n]*\n0x[a-fA-F0-9]{40}\n)(?=\nURI: [^\n]*\nVersion: )/;
const LOWER_CASE = /^([^\n]*\n)(0x[0-9a-f]{40})(?=\n)/;
const CAIP_2 = /(\nChain ID: )eip155:(?=\d{1,32}\nNonce: )/;

/**
 * The message as EIP-4361 writes it, where wallets and their libraries write it in one of three other ways:
 * - the address in lower case, without the checksum of EIP-55 (WalletConnect),
 * - one empty line instead of two where there is no statement (AppKit),
 * - the chain as `eip155:1`, as CAIP-2 does (AppKit).
 *
 * None of them is a valid message with another meaning: a valid one comes back unchanged. The signature is verified over
 * the original, so this only decides how it is read.
 */
export const inStandardForm = (text: string): string =>
  text
    .replace(LOWER_CASE, (_, line: string, address: string) => line + getAddress(address))
    .replace(ONE_EMPTY_LINE, '$1\n')
    .replace(CAIP_2, '$1');
