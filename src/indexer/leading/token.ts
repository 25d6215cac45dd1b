import { type Hex, decodeAbiParameters, hexToString, toFunctionSelector } from 'viem';
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

export interface ContractToken extends Token {
  contract: string;
}

/** What an endpoint says of the tokens. */
interface Claim {
  /** Of each contract; null when it has neither `token()` nor `asset()`. */
  addresses: (string | null)[];
  /** Of each token; `decimals` is undefined when it does not tell. */
  details: Record<string, { symbol: string; decimals?: number }>;
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
 * Asks all endpoints for the tokens of the contracts. The majority's answer counts, so that one endpoint that lies cannot
 * have savers approve a token of its choice, or stop the indexer.
 * @returns those of the contracts that have one, in their order; undefined when no majority knows all of them
 * @throws WrongChain when a contract that an adapter was named for has none
 */
export async function readTokens(
  endpoints: WatchedEndpoint[],
  configured: PoolContracts,
): Promise<ContractToken[] | undefined> {
  const contracts = [...new Set([...configured.values()].flat())];
  const claims = await Promise.all(endpoints.map((each) => claimOf(each, contracts)));
  const claim = majority(claims.filter((each) => each !== undefined));
  if (!claim) return undefined;
  const { addresses, details } = claim;
  const known = contracts.flatMap((contract, i) => {
    const address = addresses[i];
    return address === null ? [] : { contract, address, ...details[address] };
  });
  const unknown = contracts.find((each, i) => configured.adapters.has(each) && addresses[i] === null);
  // Its amounts could be of any token, and would be added to those of the first.
  if (known.length > 0 && unknown !== undefined)
    throw new WrongChain(`the contract ${unknown} of POOL_CONTRACTS has neither token() nor asset()`);
  const isWhole = (each: (typeof known)[number]): each is ContractToken => each.decimals !== undefined;
  return known.length > 0 && known.every(isWhole) ? known : undefined;
}

/** @returns undefined when the endpoint does not answer, or lacks the state */
async function claimOf({ source }: WatchedEndpoint, contracts: string[]): Promise<Claim | undefined> {
  try {
    const found = new Map<string, string | null>();
    for (const name of TOKENS) {
      // Some nodes do not say that a contract lacks a function, so one that has the first is not asked for the second.
      const asked = contracts.filter((contract) => !found.get(contract));
      const answers = await source.rpc.settled(asked.map((contract) => viewCall(contract, name)));
      if (!answers.every(isFinal)) return undefined;
      for (const [i, contract] of asked.entries()) found.set(contract, toAddress(answers[i]));
    }
    const addresses = contracts.map((contract) => found.get(contract) ?? null);
    const tokens = tokensOf(addresses);
    const told = await source.rpc.settled(
      tokens.flatMap((each) => [viewCall(each, SYMBOL), viewCall(each, DECIMALS)]),
    );
    if (!told.every(isFinal)) return undefined;
    const details = tokens.map((each, i) => [
      each,
      { symbol: toSymbol(told[2 * i]), decimals: toDecimals(told[2 * i + 1]) },
    ]);
    return { addresses, details: Object.fromEntries(details) as Claim['details'] };
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
export const isFinal = (answer: unknown): boolean => !(answer instanceof RpcError) || answer.isRevert;

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
