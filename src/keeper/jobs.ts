import { type Address, decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem';
import { Circles } from './circles';
import { Compounding } from './compounding';
import type { KeeperNode } from './node';
import type { Job, JobKind, Task } from './task';

const DRAW = '(uint8 status, uint64 drawTime, uint64 pickBlock, uint96 tickets)';
const abi = parseAbi([
  'function currentDraw() view returns (uint64)',
  `function drawOf(uint64 drawId) view returns (${DRAW})`,
  'function GRACE() view returns (uint256)',
  'function completeDraw(uint64 drawId)',
  'function cancelDraw(uint64 drawId)',
]);
const ACTIVE = 1;
const DRAWING = 2;

/**
 * Every kind of work. A new one is a line here, and in JobKind.
 * @param least yield at a contract that is worth paying in again, in smallest token units
 */
export const jobs = (least: (contract: string) => bigint): Record<JobKind, Job> => ({
  complete_draw: ofCurrentDraws('complete_draw', 'completeDraw', ({ status }) =>
    Promise.resolve(status === DRAWING),
  ),
  // Not every draw that the call would cancel: the keeper's account may be the owner's, who may at any time.
  cancel_draw: ofCurrentDraws('cancel_draw', 'cancelDraw', async ({ status, drawTime }, node, contract) => {
    if (status !== ACTIVE) return false;
    const grace = await read(node, contract, 'GRACE');
    return grace !== undefined && (await node.time()) >= drawTime + grace;
  }),
  end_round: new Circles('end_round').find,
  cancel_circle: new Circles('cancel_circle').find,
  compound: new Compounding(least).find,
});

interface Draw {
  status: number;
  drawTime: bigint;
}

/** A contract has one draw at a time that is not over, its latest. */
function ofCurrentDraws(
  kind: JobKind,
  functionName: 'completeDraw' | 'cancelDraw',
  isDue: (draw: Draw, node: KeeperNode, contract: Address) => Promise<boolean>,
): Job {
  const find = async (node: KeeperNode, contract: Address): Promise<Task | undefined> => {
    const drawId = await read(node, contract, 'currentDraw');
    if (!drawId) return undefined;
    const draw = await drawOf(node, contract, drawId);
    if (!draw || !(await isDue(draw, node, contract))) return undefined;
    const data = encodeFunctionData({ abi, functionName, args: [drawId] });
    return { kind, contract, data, subject: `draw ${drawId} of ${contract}` };
  };
  return (node, contracts, attempts) =>
    attempts.each(contracts.get('lottery'), (contract) => find(node, contract));
}

async function read(
  node: KeeperNode,
  contract: Address,
  functionName: 'currentDraw' | 'GRACE',
): Promise<bigint | undefined> {
  const answer = await node.read(contract, encodeFunctionData({ abi, functionName }));
  return answer && decodeFunctionResult({ abi, functionName, data: answer });
}

async function drawOf(node: KeeperNode, contract: Address, drawId: bigint): Promise<Draw | undefined> {
  const functionName = 'drawOf';
  const answer = await node.read(contract, encodeFunctionData({ abi, functionName, args: [drawId] }));
  return answer && decodeFunctionResult({ abi, functionName, data: answer });
}
