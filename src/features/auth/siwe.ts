import { SiweMessage } from 'siwe';
import { getAddress } from 'viem';
import { ADDRESS } from '#values/rules';
import { SignInRefused } from './sign-in-refused';

interface SiweRules {
  /** Hosts that may ask for a signature; empty: any (development only). */
  domains: string[];
  chainId?: number;
  /** Production: https only (http for this machine), no user name in addresses, no issue time in the future. */
  strict?: boolean;
}

/** What the message says, read without parsing it. `parseSiweMessage` must find the same. */
export interface SiweClaims {
  /** Lower-cased. */
  address: string;
  nonce: string;
}

// Lines end with a line feed, and the statement is one line followed by an empty one: a valid message matches once.
const NONCE = /\nChain ID: (?:eip155:)?\d{1,32}\nNonce: ([a-zA-Z0-9]{8,64})\nIssued At: /;

/** Characters: a host name (253), scheme, port and the fixed words. It is the part that is slowest to parse. */
const MAX_FIRST_LINE = 512;

/**
 * Finds address and nonce in linear time, so that the nonce can be looked up before the message is parsed.
 * @returns undefined when the text is not an EIP-4361 message
 */
export function scanSiweMessage(text: string): SiweClaims | undefined {
  const [domain = '', address] = text.split('\n', 2);
  if (domain.length > MAX_FIRST_LINE) return undefined;
  const nonce = NONCE.exec(text)?.[1];
  return nonce && address && ADDRESS.test(address) ? { address: address.toLowerCase(), nonce } : undefined;
}

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

/** How far a wallet's clock may be ahead, in ms. */
const CLOCK_SKEW_MS = 60_000;

/**
 * Parses an EIP-4361 message strictly and checks everything but signature and nonce.
 * @throws SignInRefused
 */
export function parseSiweMessage(text: string, rules: SiweRules, now = new Date()): SiweMessage {
  let message: SiweMessage;
  try {
    message = new SiweMessage(text);
  } catch (error) {
    throw new SignInRefused('malformed', `the message is not EIP-4361: ${firstLine(error)}`);
  }
  const { domains, chainId, strict } = rules;
  if (domains.length > 0) {
    const listed = `not one of SIWE_DOMAINS (${domains.join(', ')})`;
    if (!domains.includes(message.domain))
      throw new SignInRefused('domain', `the domain ${message.domain} is ${listed}`);
    // EIP-4361: the URI names the subject of the signing. With a foreign URI, the message was made for another site.
    if (!domains.includes(hostOf(message.uri)))
      throw new SignInRefused('uri', `the host of the URI ${message.uri} is ${listed}`);
  }
  if (strict) checkOrigin(message);
  if (chainId !== undefined && message.chainId !== chainId)
    throw new SignInRefused('chain', `Chain ID is ${message.chainId}, and CHAIN_ID is ${chainId}`);
  if (!Number.isSafeInteger(message.chainId)) throw new SignInRefused('chain', 'there is no such chain');
  const issued = message.issuedAt ? new Date(message.issuedAt).getTime() : NaN;
  if (strict && !(issued <= now.getTime() + CLOCK_SKEW_MS)) throw new SignInRefused('not_yet_valid');
  if (message.notBefore && !(now >= new Date(message.notBefore))) throw new SignInRefused('not_yet_valid');
  if (message.expirationTime && !(now < new Date(message.expirationTime))) throw new SignInRefused('expired');
  return message;
}

/** What the parser found first. It lists all in one text, the whole result at its end. */
const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : '')
    .split('\n')
    .find((line) => line !== '' && !line.startsWith('Invalid message'))
    ?.slice(0, 200) ?? 'it cannot be parsed';

/** Hosts of this machine. They need no certificate. */
const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** @throws SignInRefused unless domain and URI both name an https site, without user or password */
function checkOrigin({ scheme, domain, uri }: SiweMessage): void {
  if (domain.includes('@') || !isSecure(scheme ?? 'https', domain)) throw new SignInRefused('domain');
  const [, protocol = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(uri) ?? [];
  if (authority.includes('@') || !isSecure(protocol, authority)) throw new SignInRefused('uri');
}

const isSecure = (scheme: string, host: string): boolean =>
  scheme.toLowerCase() === 'https' || (scheme.toLowerCase() === 'http' && LOCAL.test(host.toLowerCase()));

function hostOf(uri: string): string {
  try {
    return new URL(uri).host;
  } catch {
    return '';
  }
}
