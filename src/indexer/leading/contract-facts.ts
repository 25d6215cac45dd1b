import { type Hex, decodeAbiParameters, hexToString, toFunctionSelector } from 'viem';
import { askEach, majority } from '#indexer/agreement/vote';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { NATIVE_COIN, type NativeCoin, type PoolContractOptions } from '#ledger/adapters/pool-contract';
import { type Call, RpcError } from '#indexer/reading/rpc';

export interface Token {
  /** Lower case. */
  address: string;
  /** Empty when the token has none. */
  symbol: string;
  decimals: number;
}

type TokenOf = (contract: string) => PoolContractOptions['token'];

export interface ContractToken extends Token {
  contract: string;
}

/** What an endpoint says of the tokens. */
interface Claim {
  /** Of each contract; null when none of its views names one. */
  addresses: (string | null)[];
  /** Of each token; `decimals` is undefined when it does not tell. */
  details: Record<string, { symbol: string; decimals?: number }>;
}

/** What contracts call their token unless the adapter knows better; a vault of ERC-4626 has an asset. */
const VIEWS = ['token()', 'asset()'];
const SYMBOL = toFunctionSelector('function symbol()');
const DECIMALS = toFunctionSelector('function decimals()');
/** Hex digits; a longer symbol is none. */
const MAX_ANSWER_LENGTH = 1000;
const MAX_SYMBOL_LENGTH = 32;

const viewCall = (to: string, data: string): Call => ['eth_call', [{ to, data }, 'latest']];

/** What the contracts say of their tokens. */
export interface ReadTokens {
  /** Of the contracts that have one, in their order. */
  known: ContractToken[];
  /** Why the token of a contract is not known, by its address. */
  unknown: Map<string, string>;
}

/**
 * Asks all endpoints for the tokens of the contracts. The majority's answer counts, so that one endpoint that lies cannot
 * have savers approve a token of its choice, or stop a contract.
 * @param tokenOf what the contract's adapter says: see `PoolContractOptions.token`
 * @returns undefined when no majority knows all of them
 */
export async function readTokens(
  endpoints: WatchedEndpoint[],
  contracts: string[],
  tokenOf: TokenOf = () => undefined,
): Promise<ReadTokens | undefined> {
  const claim = majority(await askEach(endpoints, (each) => claimOf(each, contracts, tokenOf)));
  if (!claim) return undefined;
  const found: ReadTokens = { known: [], unknown: new Map() };
  let first: NativeCoin | undefined;
  for (const [i, contract] of contracts.entries()) {
    const own = tokenOf(contract);
    const [coin, view] = typeof own === 'object' ? [own] : [undefined, own];
    first ??= coin;
    const address = claim.addresses[i];
    const { symbol, decimals } = coin ?? ((address !== null && claim.details[address]) || {});
    if (address === null) found.unknown.set(contract, `it names no token by ${view ?? VIEWS.join(' or ')}`);
    else if (coin && textOf(coin) !== textOf(first!))
      found.unknown.set(
        contract,
        `its coin is ${textOf(coin)}, and that of other contracts ${textOf(first!)}`,
      );
    else if (decimals === undefined) found.unknown.set(contract, `its token ${address} has no decimals()`);
    else found.known.push({ contract, address, symbol: symbol!, decimals });
  }
  return found;
}

const textOf = ({ symbol, decimals }: NativeCoin): string => `${symbol} of ${decimals} decimals`;

/** @returns undefined when the endpoint lacks the state */
async function claimOf(
  { source }: WatchedEndpoint,
  contracts: string[],
  tokenOf: TokenOf,
): Promise<Claim | undefined> {
  const views = contracts.map((contract) => {
    const own = tokenOf(contract);
    return typeof own === 'object' || own?.startsWith('0x') ? [] : own === undefined ? VIEWS : [own];
  });
  const calls = views.flatMap((some, i) =>
    some.map((view) => viewCall(contracts[i], toFunctionSelector(`function ${view}`))),
  );
  const answers = await source.rpc.settled(calls);
  let isWhole = true;
  const addresses = contracts.map((contract, i) => {
    const own = tokenOf(contract);
    if (typeof own === 'object') return NATIVE_COIN;
    if (own?.startsWith('0x')) return own.toLowerCase();
    for (const said of answers.splice(0, views[i].length)) {
      const address = toAddress(said);
      if (address !== null) return address;
      // Some nodes do not say that a contract lacks a function, but no view before the one that counts may be unknown.
      if (!isFinal(said)) isWhole = false;
    }
    return null;
  });
  if (!isWhole) return undefined;
  const tokens = [
    ...new Set(addresses.filter((each): each is string => each !== null && each !== NATIVE_COIN)),
  ];
  const told = await source.rpc.settled(
    tokens.flatMap((each) => [viewCall(each, SYMBOL), viewCall(each, DECIMALS)]),
  );
  if (!told.every(isFinal)) return undefined;
  const details = tokens.map((each, i) => [
    each,
    { symbol: toSymbol(told[2 * i]), decimals: toDecimals(told[2 * i + 1]) },
  ]);
  return { addresses, details: Object.fromEntries(details) as Claim['details'] };
}

/** A contract that reverts has no such function. Any other error says nothing about the contract. */
const isFinal = (answer: unknown): boolean => !(answer instanceof RpcError) || answer.isRevert;

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

const MINIMUM = toFunctionSelector('function minimumDeposit()');
/** The number of circles that are not over. */
const CIRCLES = toFunctionSelector('function activeCount()');
const WORD = /^0x[0-9a-f]{64}$/i;

/** What a contract says of itself. */
export interface ContractFacts {
  /** The smallest deposit, as a decimal string; null if it has none. */
  minimum: string | null;
  /** Whether it holds savings circles. */
  circles: boolean;
}

/**
 * Asks all endpoints what each contract is. The majority's answer counts, so that one endpoint that lies cannot have
 * every deposit refused.
 * @returns in the order of the contracts; undefined when no majority knows
 */
export const readContractFacts = async (
  endpoints: WatchedEndpoint[],
  contracts: string[],
): Promise<ContractFacts[] | undefined> =>
  majority(await askEach(endpoints, (each) => factsOf(each, contracts)));

/**
 * The contracts at whose addresses there is nothing: an endpoint says so, and none of the others has code there. Such a
 * contract would be followed as one without events, and payers lose their money.
 */
export async function contractsWithoutCode(
  endpoints: WatchedEndpoint[],
  contracts: string[],
): Promise<Set<string>> {
  const calls = contracts.map((address): Call => ['eth_getCode', [address, 'latest']]);
  const answers = await askEach(endpoints, ({ source }) => source.rpc.settled(calls));
  return new Set(
    contracts.filter((_, i) => {
      const codes = answers.map((given) => given?.[i]).filter((code) => typeof code === 'string');
      return codes.length > 0 && codes.every((code) => code === '0x');
    }),
  );
}

async function factsOf(
  { source }: WatchedEndpoint,
  contracts: string[],
): Promise<ContractFacts[] | undefined> {
  const calls = [MINIMUM, CIRCLES].flatMap((view) => contracts.map((contract) => viewCall(contract, view)));
  const answers = await source.rpc.settled(calls);
  if (!answers.every(isFinal)) return undefined;
  const [minimums, circles] = [answers.slice(0, contracts.length), answers.slice(contracts.length)].map(
    (some) => some.map((answer) => (typeof answer === 'string' && WORD.test(answer) ? answer : null)),
  );
  return contracts.map((_, i) => ({
    minimum: minimums[i] === null ? null : BigInt(minimums[i]).toString(),
    circles: circles[i] !== null,
  }));
}
