import { type AbiFunction, type Hex, encodeFunctionData, parseAbi, parseAbiItem } from 'viem';
import { bytes16 } from '#values/bytes16';
import { type StoredCircle, circleViews } from './circle-views';
import { type StoredPosition, claimable } from './stored-position';

/** Functions that a contract must have, beside `chain/contract.abi.ts`, for its balances to be compared. */
const abi = parseAbi([
  'function totalOf(bytes16 poolId) view returns (uint256)',
  'function balanceOf(bytes16 poolId, address account) view returns (uint256)',
  'function claimableOf(bytes16 poolId, address account) view returns (uint256)',
]);

export type Call = [method: string, parameters: unknown[]];

export interface AtCursor {
  /** The driver returns bigint as text. */
  cursorNumber: string;
  cursorHash: string;
}

export interface Holding extends AtCursor {
  id: string;
  contract: string;
  block: string;
  /** Null in a part that does not begin the pool. */
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
}

export const hex = (value: number | string): Hex => `0x${Number(value).toString(16)}`;
export const ethCall = (to: string, data: Hex, block: string): Call => [
  'eth_call',
  [{ to, data }, hex(block)],
];
const address = (text: string): Hex => text as Hex;

/** What the contract is asked about a pool, and the answers that the ledger expects. */
export function questionsOf(holding: Holding): Question[] {
  const { id, contract, block, total, holders, circle } = holding;
  if (circle === true) return [];
  if (circle) return circleViews(id, circle, total, (data) => ethCall(contract, data, block));
  const { totalOf, balanceOf, claimableOf } = holding.others ? viewsOf(holding) : referenceViews(id);
  const ask = (kind: string, data: Hex | undefined, key: string, wanted: string | bigint): Question[] =>
    data === undefined
      ? []
      : [{ kind, id: key, wanted: BigInt(wanted), call: ethCall(contract, data, block) }];
  const ofPool = total === null ? [] : ask('chain.total', totalOf, id, total);
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
  return [...ofPool, ...ofAccounts];
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

/** A contract that does not know the pool yet cannot be asked about it. */
function viewsOf({ id, others }: Holding): Views {
  const { name, isNamed, balance, total } = others!;
  const pool = name === null ? bytes16(id) : name.startsWith('0x') ? name : BigInt(name);
  const data = (signature: string | null, account = ''): Hex | undefined => {
    if (signature === null || (isNamed && name === null)) return undefined;
    const item = parseAbiItem(`function ${signature} view returns (uint256)`) as AbiFunction;
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
