import {
  type AbiFunction,
  type AbiParameter,
  type Hex,
  decodeAbiParameters,
  encodeFunctionData,
  parseAbiItem,
} from 'viem';
import { bytes16 } from '#values/bytes16';

/** What is asked of a pool, where the contract has it: parameters are named `pool` and `account`. */
type Views = Record<'total' | 'balance' | 'claimable', string | null>;
const REFERENCE: Views = {
  total: 'totalOf(bytes16 pool)',
  balance: 'balanceOf(bytes16 pool, address account)',
  claimable: 'claimableOf(bytes16 pool, address account)',
};
/** What contracts/RotatingPool.sol says of a circle: what can be claimed as payout and as refund. */
const CIRCLE: Views = {
  total: 'totalOf(uint64 pool)',
  balance: null,
  claimable: 'claimableOf(uint64 pool, address account)',
};
/** As the contract: see the yield model. */
const SCALE = 2n ** 128n;

export type Call = [method: string, parameters: unknown[]];

export interface AtCursor {
  /** The driver returns bigint as text. */
  cursorNumber: string;
  cursorHash: string;
}

/** The endpoints of the chain. */
export interface AskedChain {
  /**
   * Asks those that have the ledger's block, before and after the calls.
   * @returns for each call its answer, or an Error
   * @throws OtherBlock, or other errors when no endpoint answers or there is no majority
   */
  ask(calls: Call[], at: AtCursor): Promise<unknown[]>;
}

/** The calls of a round do not suffice for the question. */
export class CallsUsedUp extends Error {}

/** The same, with a limit of calls in each round. @throws CallsUsedUp */
export interface CappedChain extends AskedChain {
  /** Begins a round. */
  begin(): Promise<void>;
  /** Values that can be asked for at once: so many suffice three times, as what differs is asked again. */
  readonly values: number;
}

/** A position as it is stored; `first` is the first accrual that it has not taken part in. */
interface StoredPosition {
  balance: string;
  offset: string;
  owed: string;
  first: { time: string; perWeight: string; perUnit: string; lastPerUnit: string } | null;
}

/** A circle as the ledger has it: amounts as decimal text. */
interface StoredCircle {
  id: string;
  members: { account: string; payout: string; refund: string }[];
}

export interface Holding extends AtCursor {
  id: string;
  contract: string;
  block: string;
  /** Null if only accounts are asked for. */
  total: string | null;
  holders: { account: string; amount: string | null; position: StoredPosition | null }[];
  /** Of a contract that names pools itself, or has functions of its own: what it calls the pool, and its functions, if it has any. */
  others: { name: string | null; isNamed: boolean; balance: string | null; total: string | null } | null;
  /** True: the contract holds circles, and the pool has none. */
  circle: StoredCircle | boolean;
}

export interface Question {
  kind: string;
  id: string;
  wanted: bigint;
  call: Call;
  /** What the view of an adapter says that it returns, the number that is meant as `value`. None: one number. */
  outputs?: readonly AbiParameter[];
}

/** @returns undefined if there is none @throws what viem throws for an answer of another form */
export const valueIn = (outputs: readonly AbiParameter[], answer: string): bigint | undefined =>
  numberIn(outputs, decodeAbiParameters(outputs, answer as Hex));

/** @param values by name, or in order if not all of them have one: so viem gives them */
function numberIn(outputs: readonly AbiParameter[], values: unknown): bigint | undefined {
  for (const [i, each] of outputs.entries()) {
    const value = (values as Record<string, unknown>)[Array.isArray(values) ? i : each.name!];
    const isTuple = each.type === 'tuple' && 'components' in each;
    const found = isTuple ? numberIn(each.components, value) : undefined;
    if (found !== undefined) return found;
    if (each.name === 'value' && !isTuple) return BigInt(value as bigint | number);
  }
  return undefined;
}

export const hex = (value: number | string): Hex => `0x${Number(value).toString(16)}`;
export const ethCall = (to: string, data: Hex, block: string): Call => [
  'eth_call',
  [{ to, data }, hex(block)],
];

/** What the contract is asked about a pool, and the answers that the ledger expects. */
export function questionsOf(holding: Holding): Question[] {
  const { id, contract, block, total, holders, circle, others } = holding;
  if (circle === true) return [];
  const pool = circle ? BigInt(circle.id) : nameOf(holding);
  if (pool === undefined) return [];
  const views = circle ? CIRCLE : others ? { ...others, claimable: null } : REFERENCE;
  const ask = (
    kind: string,
    view: string | null,
    wanted: string | bigint | null,
    account = '',
  ): Question[] => {
    if (view === null || wanted === null) return [];
    const item = functionOf(view);
    const values: Record<string, unknown> = { pool, account };
    const args = item.inputs.map((input) => values[input.name!]);
    const data = encodeFunctionData({ abi: [item], functionName: item.name, args });
    const key = account ? `${id} ${account}` : id;
    const { outputs } = item;
    return [{ kind, id: key, wanted: BigInt(wanted), call: ethCall(contract, data, block), outputs }];
  };
  const ofPool = ask('chain.total', views.total, total);
  if (circle)
    return [
      ...ofPool,
      // The two words that the contract answers with, as one number.
      ...circle.members.flatMap(({ account, payout, refund }) =>
        ask('chain.claimable', views.claimable, (BigInt(payout) << 256n) | BigInt(refund), account),
      ),
    ];
  const ofAccounts = holders.flatMap(({ account, amount, position }) => [
    ...ask('chain.balance', views.balance, amount, account),
    ...ask('chain.claimable', views.claimable, position && claimable(position), account),
  ]);
  return [...ofPool, ...ofAccounts];
}

/** What the contract calls the pool. @returns undefined if it does not know the pool yet */
function nameOf({ id, others }: Holding): Hex | bigint | undefined {
  if (!others || (others.name === null && !others.isNamed)) return bytes16(id);
  if (others.name === null) return undefined;
  return others.name.startsWith('0x') ? (others.name as Hex) : BigInt(others.name);
}

/** What the account could claim now. */
function claimable({ balance, offset, owed, first }: StoredPosition): bigint {
  if (!first) return BigInt(owed);
  const weight = BigInt(balance) * BigInt(first.time) - BigInt(offset);
  const later = BigInt(first.lastPerUnit) - BigInt(first.perUnit);
  return BigInt(owed) + (weight * BigInt(first.perWeight)) / SCALE + (BigInt(balance) * later) / SCALE;
}

const functions = new Map<string, AbiFunction>();
function functionOf(signature: string): AbiFunction {
  const known = functions.get(signature);
  if (known) return known;
  const item = parseAbiItem(`function ${signature}`) as AbiFunction;
  functions.set(signature, item);
  return item;
}
