import { type Hex, decodeAbiParameters, hexToString, toFunctionSelector } from 'viem';
import { askEach, majority } from '#indexer/agreement/vote';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { NATIVE_COIN, type NativeCoin, type PoolContractOptions } from '#ledger/adapters/pool-contract';
import { type Call, RpcError } from '#indexer/reading/rpc';

interface ContractToken {
  contract: string;
  /** Lower case. */
  address: string;
  /** Empty when the token has none. */
  symbol: string;
  decimals: number;
}

type TokenOf = (contract: string) => PoolContractOptions['token'];

/** What contracts call their token unless the adapter knows better; a vault of ERC-4626 has an asset. */
const VIEWS = ['token()', 'asset()'];
const SYMBOL = toFunctionSelector('function symbol()');
const DECIMALS = toFunctionSelector('function decimals()');
/** Hex digits; a longer symbol is none. */
const MAX_ANSWER_LENGTH = 1000;
const MAX_SYMBOL_LENGTH = 32;

type View = [contract: string, selector: string];
/** Null if the contract has no such function; undefined if no majority knows. */
type Answer = Hex | null | undefined;

/**
 * Asks all endpoints. The majority's answer to a view counts, so that a lying endpoint cannot make savers approve a token
 * of its choice, cause deposits to be refused, or stop a contract.
 */
async function askViews(endpoints: WatchedEndpoint[], views: View[]): Promise<Answer[]> {
  const calls = views.map(([to, data]): Call => ['eth_call', [{ to, data }, 'latest']]);
  const given = await askEach(endpoints, ({ source }) => source.rpc.settled(calls));
  return views.map((_, i) => majority(given.map((answers) => answers && toAnswer(answers[i]))));
}

/** A contract that reverts has no such function. Any other error says nothing about the contract. */
const toAnswer = (said: unknown): Answer =>
  said instanceof RpcError && !said.isRevert ? undefined : isText(said) ? said : null;

/** What the contracts say of their tokens. */
export interface ReadTokens {
  /** Of the contracts that have one, in their order. */
  known: ContractToken[];
  /** Why the token of a contract is not known, by its address. */
  unknown: Map<string, string>;
}

/**
 * @param tokenOf what the contract's adapter says: see `PoolContractOptions.token`
 * @returns undefined when no majority knows all of them
 */
export async function readTokens(
  endpoints: WatchedEndpoint[],
  contracts: string[],
  tokenOf: TokenOf = () => undefined,
): Promise<ReadTokens | undefined> {
  const addresses = await addressesOf(endpoints, contracts, tokenOf);
  const tokens = [...new Set(addresses.filter((each) => each !== NATIVE_COIN && typeof each === 'string'))];
  const told = await askViews(
    endpoints,
    tokens.flatMap((each): View[] => [SYMBOL, DECIMALS].map((selector) => [each!, selector])),
  );
  if ([...addresses, ...told].includes(undefined)) return undefined;
  const found: ReadTokens = { known: [], unknown: new Map() };
  let first: NativeCoin | undefined;
  for (const [i, contract] of contracts.entries()) {
    const own = tokenOf(contract);
    const [coin, view] = typeof own === 'object' ? [own] : [undefined, own];
    first ??= coin;
    const address = addresses[i];
    const at = 2 * tokens.indexOf(address);
    const { symbol, decimals } = coin ?? { symbol: toSymbol(told[at]), decimals: toDecimals(told[at + 1]) };
    if (!address) found.unknown.set(contract, `it names no token by ${view ?? VIEWS.join(' or ')}`);
    else if (coin && textOf(coin) !== textOf(first!))
      found.unknown.set(
        contract,
        `its coin is ${textOf(coin)}, and that of other contracts ${textOf(first!)}`,
      );
    else if (decimals === undefined) found.unknown.set(contract, `its token ${address} has no decimals()`);
    else found.known.push({ contract, address, symbol, decimals });
  }
  return found;
}

const textOf = ({ symbol, decimals }: NativeCoin): string => `${symbol} of ${decimals} decimals`;

/** The token of each contract; null when none of its views names one, undefined when no majority knows. */
async function addressesOf(
  endpoints: WatchedEndpoint[],
  contracts: string[],
  tokenOf: TokenOf,
): Promise<(string | null | undefined)[]> {
  const views = contracts.map((contract) => {
    const own = tokenOf(contract);
    return typeof own === 'object' || own?.startsWith('0x') ? [] : own === undefined ? VIEWS : [own];
  });
  const asked = views.flatMap((some, i) =>
    some.map((view): View => [contracts[i], toFunctionSelector(`function ${view}`)]),
  );
  const answers = await askViews(endpoints, asked);
  return contracts.map((contract, i) => {
    const own = tokenOf(contract);
    const said = answers.splice(0, views[i].length).map(toAddress);
    if (typeof own === 'object') return NATIVE_COIN;
    if (own?.startsWith('0x')) return own.toLowerCase();
    // No view before the one that counts may be unknown.
    return said[said.findIndex((each) => each !== null)] ?? (said.includes(undefined) ? undefined : null);
  });
}

const isText = (answer: unknown): answer is Hex =>
  typeof answer === 'string' && /^0x([0-9a-f]{2})*$/i.test(answer) && answer.length <= MAX_ANSWER_LENGTH;

function toAddress(answer: Answer): string | null | undefined {
  if (answer === undefined) return undefined;
  const [, address] = (answer && /^0x0{24}([0-9a-f]{40})$/i.exec(answer)) || [];
  return address === undefined || /^0*$/.test(address) ? null : `0x${address.toLowerCase()}`;
}

function toDecimals(answer: Answer): number | undefined {
  const decimals = answer?.length === 66 ? Number(answer) : NaN;
  return decimals <= 255 ? decimals : undefined;
}

/** Some tokens, such as MKR, answer with bytes32 instead of a string. */
function toSymbol(answer: Answer): string {
  if (!answer) return '';
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
interface ContractFacts {
  /** The smallest deposit, as a decimal string; null if it has none. */
  minimum: string | null;
  /** Whether it holds savings circles. */
  circles: boolean;
}

/** @returns what each contract is, in their order; undefined when no majority knows */
export async function readContractFacts(
  endpoints: WatchedEndpoint[],
  contracts: string[],
): Promise<ContractFacts[] | undefined> {
  const asked = contracts.flatMap((each): View[] => [MINIMUM, CIRCLES].map((selector) => [each, selector]));
  const answers = await askViews(endpoints, asked);
  if (answers.includes(undefined)) return undefined;
  const words = answers.map((answer) => (answer && WORD.test(answer) ? answer : null));
  return contracts.map((_, i) => {
    const [minimum, circles] = words.slice(2 * i);
    return { minimum: minimum && BigInt(minimum).toString(), circles: circles !== null };
  });
}

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
