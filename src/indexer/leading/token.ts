import { type Hex, decodeAbiParameters, hexToString, toFunctionSelector } from 'viem';
import type { PoolType } from '#values/types';
import type { PoolContracts } from '#ledger/chain/chain.settings';
import { WrongChain } from '#indexer/agreement/chain-identity';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type Call, RetryableChainError, RpcError } from '#indexer/reading/rpc';

export interface Token {
  /** Lower case. */
  address: string;
  /** Empty when the token has none. */
  symbol: string;
  decimals: number;
}

/** What an endpoint says of the token. */
interface Claim {
  /** Of each contract; null when it has neither `token()` nor `asset()`. */
  addresses: (string | null)[];
  symbol: string;
  /** Undefined when the contracts have no common token, or it does not tell. */
  decimals?: number;
}

/** What contracts call their token; a vault of ERC-4626 has an asset. */
const TOKENS = ['function token()', 'function asset()'].map((each) => toFunctionSelector(each));
const SYMBOL = toFunctionSelector('function symbol()');
const DECIMALS = toFunctionSelector('function decimals()');
/** Hex digits; a longer symbol is none. */
const MAX_ANSWER_LENGTH = 1000;
const MAX_SYMBOL_LENGTH = 32;

export const viewCall = (to: string, data: string): Call => ['eth_call', [{ to, data }, 'latest']];

/**
 * Asks all endpoints for the token of the contracts. The majority's answer counts, so that one endpoint that lies
 * cannot have savers approve a token of its choice, or stop the indexer.
 * @returns undefined when no majority knows the token
 * @throws WrongChain when the contracts have several tokens, or one that an adapter was named for has none
 */
export async function readToken(
  endpoints: WatchedEndpoint[],
  configured: PoolContracts,
): Promise<Token | undefined> {
  const contracts = [...new Set([...configured.values()].flat())];
  const claims = await Promise.all(endpoints.map((each) => claimOf(each, contracts)));
  const claim = majority(claims.filter((each) => each !== undefined));
  if (!claim) return undefined;
  const [address, another] = tokensOf(claim.addresses);
  if (another !== undefined) throw severalTokens(configured, contracts, claim.addresses);
  const unknown = contracts.find((each, i) => configured.adapters.has(each) && claim.addresses[i] === null);
  // Its amounts could be of any token, and would be added to those of this one.
  if (address !== undefined && unknown !== undefined)
    throw new WrongChain(`the contract ${unknown} of POOL_CONTRACTS has neither token() nor asset()`);
  const { symbol, decimals } = claim;
  return address === undefined || decimals === undefined ? undefined : { address, symbol, decimals };
}

/** @returns undefined when the endpoint does not answer, or lacks the state */
async function claimOf({ source }: WatchedEndpoint, contracts: string[]): Promise<Claim | undefined> {
  try {
    const calls = contracts.flatMap((contract) => TOKENS.map((name) => viewCall(contract, name)));
    const answers = await source.rpc.settled(calls);
    if (!answers.every(isFinal)) return undefined;
    const found = answers.map(toAddress);
    const addresses = contracts.map((_, i) => found[2 * i] ?? found[2 * i + 1]);
    const tokens = tokensOf(addresses);
    if (tokens.length !== 1) return { addresses, symbol: '' };
    const details = await source.rpc.settled([viewCall(tokens[0], SYMBOL), viewCall(tokens[0], DECIMALS)]);
    if (!details.every(isFinal)) return undefined;
    return { addresses, symbol: toSymbol(details[0]), decimals: toDecimals(details[1]) };
  } catch (error) {
    if (error instanceof RetryableChainError) return undefined;
    throw error;
  }
}

const tokensOf = (addresses: (string | null)[]): string[] => [
  ...new Set(addresses.filter((each) => each !== null)),
];

export function majority<T>(claims: T[]): T | undefined {
  const same = (claim: T): number =>
    claims.filter((each) => JSON.stringify(each) === JSON.stringify(claim)).length;
  return claims.find((claim) => same(claim) * 2 > claims.length);
}

/** A contract that reverts has no such function. Any other error says nothing about the contract. */
export const isFinal = (answer: unknown): boolean =>
  !(answer instanceof RpcError) || /revert/i.test(answer.message);

const isText = (answer: unknown): answer is Hex =>
  typeof answer === 'string' && /^0x([0-9a-f]{2})*$/i.test(answer) && answer.length <= MAX_ANSWER_LENGTH;

function toAddress(answer: unknown): string | null {
  const [, address] = (isText(answer) && /^0x0{24}([0-9a-f]{40})$/i.exec(answer)) || [];
  return address === undefined || /^0*$/.test(address) ? null : `0x${address.toLowerCase()}`;
}

function toDecimals(answer: unknown): number | undefined {
  const decimals = isText(answer) && answer.length === 66 ? Number(answer) : NaN;
  return decimals <= 255 ? decimals : undefined;
}

/** Some tokens, such as MKR, answer with bytes32 instead of a string. */
function toSymbol(answer: unknown): string {
  if (!isText(answer)) return '';
  try {
    const text =
      answer.length === 66 ? hexToString(answer) : decodeAbiParameters([{ type: 'string' }], answer)[0];
    // Control and formatting characters have no place in what frontends show.
    return [...text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()].slice(0, MAX_SYMBOL_LENGTH).join('');
  } catch {
    return '';
  }
}

function severalTokens(
  configured: Map<PoolType, string[]>,
  contracts: string[],
  addresses: (string | null)[],
): WrongChain {
  const named = [...configured].flatMap(([type, each]) =>
    each.map((contract) => ({ contract, type, token: addresses[contracts.indexOf(contract)] })),
  );
  const list = named.filter(({ token }) => token !== null);
  return new WrongChain(
    `the contracts of POOL_CONTRACTS must have one token, but that of ` +
      list.map(({ type, contract, token }) => `${type}=${contract} is ${token}`).join(', of '),
  );
}
