import {
  type AbiFunction,
  type AbiParameter,
  type Address,
  type Hex,
  encodeFunctionData,
  parseAbiItem,
} from 'viem';

/** What a call or a view of a contract may say, by the names of its function's parameters. */
export interface CallValues {
  /** What the contract calls the pool: see `PoolContractOptions.poolsBy`. */
  pool: Hex | bigint;
  /** The caller. */
  account: Address;
  /** In the token's smallest unit. */
  amount: bigint;
}
const NAMES: Record<keyof CallValues, true> = { pool: true, account: true, amount: true };

const read = new Map<string, AbiFunction>();

/**
 * @param signature such as `withdraw(uint256 amount, address account)`
 * @param place named in the error
 * @throws Error if it is none, or has a parameter that a call cannot say
 */
export function readCall(signature: string, place: string): AbiFunction {
  const known = read.get(signature);
  if (known) return known;
  const item = parsed(signature, place);
  const stranger = item.inputs.find(({ name }) => name === undefined || !Object.hasOwn(NAMES, name));
  if (stranger)
    throw new Error(
      `${place}: ${signature} has the parameter ${stranger.name ?? 'without a name'}: only ${Object.keys(NAMES).join(', ')}`,
    );
  read.set(signature, item);
  return item;
}

function parsed(signature: string, place: string): AbiFunction {
  try {
    return parseAbiItem(`function ${signature}`) as AbiFunction;
  } catch (error) {
    throw new Error(`${place}: ${signature} is no function`, { cause: error });
  }
}

/** The data of a call or transaction. @param values those that it has a parameter for */
export function encodeCall(item: AbiFunction, values: Partial<CallValues>): Hex {
  const args = item.inputs.map(({ name }) => values[name as keyof CallValues]);
  return encodeFunctionData({ abi: [item], functionName: item.name, args });
}

/**
 * A function that returns a number. One that returns several values, or a struct, calls the number `value`:
 * `members(address account) returns (uint256 value, uint64 since)`.
 * @param place named in the error
 * @throws Error as `readCall`, and if it says what it returns, and not one number with that name
 */
export function readView(signature: string, place: string): AbiFunction {
  const item = readCall(signature, place);
  const values = leavesOf(item.outputs).filter(({ name }) => name === 'value');
  if (item.outputs.length > 0 && (values.length !== 1 || !/^uint\d+$/.test(values[0].type)))
    throw new Error(`${place}: ${signature} must return one uint that is called value`);
  return item;
}

const leavesOf = (parameters: readonly AbiParameter[]): AbiParameter[] =>
  parameters.flatMap((each) =>
    each.type === 'tuple' && 'components' in each ? leavesOf(each.components) : each,
  );
