import { type Hex, decodeFunctionResult, encodeFunctionData, multicall3Abi } from 'viem';
import { type Call, RpcError } from '#indexer/reading/rpc';

/** The same address on every chain that has it. */
const ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11';
const AGGREGATE = { abi: multicall3Abi, functionName: 'aggregate3' } as const;
/** Views in one call: a node limits the gas of `eth_call`, often to 50 million. */
const VIEWS_AT_ONCE = 100;

/** Asks whether the chain has it. */
export const CODE_CALL: Call = ['eth_getCode', [ADDRESS, 'latest']];
export const isCode = (answer: unknown): boolean => typeof answer === 'string' && answer.length > 2;

interface View {
  to: Hex;
  data: Hex;
}

/** Calls to send in place of others, and how to read the answers. */
export interface Packed {
  calls: Call[];
  /** @returns the answers to the original calls; an Error for each that has none */
  unpack: (answers: unknown[]) => unknown[];
}

/** Puts the `eth_call`s of one block together, so that few calls ask for many values. Others stay as they are. */
export function pack(calls: Call[]): Packed {
  const packed: (Call | { block: string; views: View[] })[] = [];
  const places = calls.map((call): { at: number; view?: number } => {
    const [method, [view, block]] = call as [string, [View, string]];
    if (method !== 'eth_call') return { at: packed.push(call) - 1 };
    const last = packed.at(-1);
    const isOpen = last && 'views' in last && last.block === block && last.views.length < VIEWS_AT_ONCE;
    if (isOpen) return { at: packed.length - 1, view: last.views.push(view) - 1 };
    return { at: packed.push({ block, views: [view] }) - 1, view: 0 };
  });
  return {
    calls: packed.map((each) =>
      'views' in each ? ['eth_call', [{ to: ADDRESS, data: aggregate(each.views) }, each.block]] : each,
    ),
    unpack: (answers) => {
      const results = packed.map((each, i) => ('views' in each ? resultsOf(answers[i]) : []));
      return places.map(({ at, view }) => {
        if (view === undefined) return answers[at];
        const some = results[at];
        return some instanceof Error ? some : (some[view] ?? new Error('no result'));
      });
    },
  };
}

const aggregate = (views: View[]): Hex =>
  encodeFunctionData({
    ...AGGREGATE,
    args: [views.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))],
  });

function resultsOf(answer: unknown): unknown[] | Error {
  if (answer instanceof Error) return answer;
  try {
    return decodeFunctionResult({ ...AGGREGATE, data: answer as Hex }).map(({ success, returnData }) =>
      success ? returnData : new RpcError('eth_call', 3, 'execution reverted', true),
    );
  } catch {
    return new Error('no answer of Multicall3');
  }
}
