import {
  type AbiFunction,
  type AbiParameter,
  type Hex,
  decodeAbiParameters,
  encodeFunctionData,
  parseAbi,
  parseAbiItem,
} from 'viem';
import { bytes16 } from '#values/bytes16';

/** Functions that a contract must have, beside `chain/contract.abi.ts`, for its balances to be compared. */
const abi = parseAbi([
  'function totalOf(bytes16 poolId) view returns (uint256)',
  'function balanceOf(bytes16 poolId, address account) view returns (uint256)',
  'function claimableOf(bytes16 poolId, address account) view returns (uint256)',
]);
/** What contracts/RotatingPool.sol tells of a circle. */
const circleAbi = parseAbi([
  'function totalOf(uint64 circleId) view returns (uint256)',
  'function claimableOf(uint64 circleId, address account) view returns (uint256 payout, uint256 refund)',
]);
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

/** The same, with a limit of calls in each round. Asking throws when they are used up. */
export interface CappedChain extends AskedChain {
  /** Begins a round. */
  begin(): Promise<void>;
  /** Calls that are left. */
  readonly left: number;
  /** Values that can be asked for at once. */
  readonly values: number;
  /** Calls that this many values need. */
  cost(values: number): number;
}

/** A position as it is stored; `first` is the first accrual that it has not taken part in. */
interface StoredPosition {
  account: string;
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
const address = (text: string): Hex => text as Hex;

/** What the contract is asked about a pool, and the answers that the ledger expects. */
export function questionsOf(holding: Holding): Question[] {
  const { id, contract, block, total, holders, circle, others } = holding;
  if (circle === true) return [];
  const [ofTotal, ofBalance] = [others?.total, others?.balance].map(
    (view) => view && functionOf(view).outputs,
  );
  const ask = (kind: string, data: Hex | undefined, key: string, wanted: string | bigint): Question[] =>
    data === undefined
      ? []
      : [
          {
            ...{ kind, id: key, wanted: BigInt(wanted), call: ethCall(contract, data, block) },
            outputs: (kind === 'chain.total' ? ofTotal : ofBalance) || [],
          },
        ];
  const ofPool = (data: Hex | undefined): Question[] =>
    total === null ? [] : ask('chain.total', data, id, total);
  if (circle) {
    const of = BigInt(circle.id);
    const claimableOf = (account: string): Hex =>
      encodeFunctionData({ abi: circleAbi, functionName: 'claimableOf', args: [of, address(account)] });
    return [
      ...ofPool(encodeFunctionData({ abi: circleAbi, functionName: 'totalOf', args: [of] })),
      ...circle.members.flatMap(({ account, payout, refund }) =>
        // The two words that the contract answers with, as one number.
        ask(
          'chain.claimable',
          claimableOf(account),
          `${id} ${account}`,
          (BigInt(payout) << 256n) | BigInt(refund),
        ),
      ),
    ];
  }
  const { totalOf, balanceOf, claimableOf } = others ? viewsOf(holding) : referenceViews(id);
  const ofAccounts = holders.flatMap(({ account, amount, position }) => {
    const key = `${id} ${account}`;
    return [
      ...(amount === null ? [] : ask('chain.balance', balanceOf(account), key, amount)),
      // Where position and ledger agree, the question above is enough.
      ...(position === null || position.balance === amount
        ? []
        : ask('chain.position', balanceOf(account), key, position.balance)),
      ...(position === null ? [] : ask('chain.claimable', claimableOf(account), key, claimable(position))),
    ];
  });
  return [...ofPool(totalOf), ...ofAccounts];
}

/** What the account could claim now. */
function claimable({ balance, offset, owed, first }: StoredPosition): bigint {
  if (!first) return BigInt(owed);
  const weight = BigInt(balance) * BigInt(first.time) - BigInt(offset);
  const later = BigInt(first.lastPerUnit) - BigInt(first.perUnit);
  return BigInt(owed) + (weight * BigInt(first.perWeight)) / SCALE + (BigInt(balance) * later) / SCALE;
}

interface Views {
  totalOf?: Hex;
  balanceOf: (account: string) => Hex | undefined;
  claimableOf: (account: string) => Hex | undefined;
}

function referenceViews(id: string): Views {
  const poolId = bytes16(id);
  const of = (functionName: 'balanceOf' | 'claimableOf') => (account: string) =>
    encodeFunctionData({ abi, functionName, args: [poolId, address(account)] });
  return {
    totalOf: encodeFunctionData({ abi, functionName: 'totalOf', args: [poolId] }),
    balanceOf: of('balanceOf'),
    claimableOf: of('claimableOf'),
  };
}

const functionOf = (signature: string): AbiFunction => parseAbiItem(`function ${signature}`) as AbiFunction;

/** A contract that does not know the pool yet cannot be asked about it. */
function viewsOf({ id, others }: Holding): Views {
  const { name, isNamed, balance, total } = others!;
  const pool = name === null ? bytes16(id) : name.startsWith('0x') ? name : BigInt(name);
  const data = (signature: string | null, account = ''): Hex | undefined => {
    if (signature === null || (isNamed && name === null)) return undefined;
    const item = functionOf(signature);
    const values: Record<string, unknown> = { pool, account };
    const args = item.inputs.map((input) => values[input.name!]);
    return encodeFunctionData({ abi: [item], functionName: item.name, args });
  };
  return {
    totalOf: data(total),
    balanceOf: (account) => data(balance, account),
    claimableOf: () => undefined,
  };
}
