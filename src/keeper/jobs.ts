import { type Address, type Hex, encodeFunctionData, parseAbi } from 'viem';
import type { PoolType } from '#values/types';
import type { KeeperNode } from './node';

/** A call that seems due. Whether it is, a simulation says. */
export interface Task {
  kind: JobKind;
  contract: Address;
  data: Hex;
  /** For the log. */
  subject: string;
  /** It is paid for only while less than this part of the budget is spent; all of it, if left out. */
  budgetPart?: bigint;
  /** The keeper is through with it, for now: it was sent, or would fail. */
  ended?: () => void;
}

export type JobKind = 'complete_draw' | 'cancel_draw' | 'end_round' | 'cancel_circle' | 'compound';
export type Contracts = ReadonlyMap<PoolType, readonly string[]>;

/** Finds what seems due: a few calls for each contract, however much there is on it. */
export type Job = (node: KeeperNode, contracts: Contracts, attempts: Attempts) => Promise<Task[]>;

/** The attempts of one round: a contract whose calls fail, or that answers nonsense, does not stop the others. */
export class Attempts {
  /** The first failure. */
  failure?: Error;

  async of<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      this.failure ??= error as Error;
      return undefined;
    }
  }
  /** What is due at each of these contracts. */
  async each(
    contracts: Iterable<string> | undefined,
    find: (contract: Address) => Promise<Task | Task[] | undefined>,
  ): Promise<Task[]> {
    const found: (Task | Task[] | undefined)[] = [];
    for (const contract of contracts ?? []) found.push(await this.of(() => find(contract as Address)));
    return found.flat().filter((task) => task !== undefined);
  }
}

/** Part of the budget for circles and compounding together. The rest is for draws, which others wait for. */
const BUDGET_PART = 2n;

const draws = parseAbi([
  'function currentDraw() view returns (uint64)',
  'function drawOf(uint64 drawId) view returns ((uint8 status, uint64 drawTime, uint64 pickBlock, uint96 tickets))',
  'function GRACE() view returns (uint256)',
  'function completeDraw(uint64 drawId)',
  'function cancelDraw(uint64 drawId)',
]);
const ACTIVE = 1;
const DRAWING = 2;

/**
 * Completes draws that are closed, and cancels those that their owner left open. A contract has one draw at a time that
 * is not over, its latest.
 */
export const findDraws: Job = (node, contracts, attempts) =>
  attempts.each(contracts.get('lottery'), async (contract) => {
    const drawId = await node.read(contract, draws, 'currentDraw', []);
    const draw = drawId && (await node.read(contract, draws, 'drawOf', [drawId]));
    if (!draw) return undefined;
    const task = (kind: JobKind, functionName: 'completeDraw' | 'cancelDraw'): Task => ({
      ...{ kind, contract, subject: `draw ${drawId} of ${contract}` },
      data: encodeFunctionData({ abi: draws, functionName, args: [drawId] }),
    });
    if (draw.status === DRAWING) return task('complete_draw', 'completeDraw');
    if (draw.status !== ACTIVE) return undefined;
    // Not every draw that the call would cancel: the keeper's account may be the owner's, who may at any time.
    const grace = await node.read(contract, draws, 'GRACE', []);
    const isLate = grace !== undefined && (await node.time()) >= draw.drawTime + grace;
    return isLate ? task('cancel_draw', 'cancelDraw') : undefined;
  });

const circles = parseAbi([
  'function activeCircles(uint256 from, uint256 count) view returns (uint64[] circleIds, uint8[] due)',
  'function endRound(uint64 circleId)',
  'function cancelCircle(uint64 circleId)',
]);
/** By kind: the contract's code for a circle that is due, and the function to call. */
const DUE = { end_round: [1, 'endRound'], cancel_circle: [2, 'cancelCircle'] } as const;
/** Circles of a contract's list that one call looks at. Each takes the node some 7,000 gas. */
const CIRCLES_PAGE = 1000;
/** Calls in a round, however long the list is. */
const PAGES = 5;
/** Tasks of a round. One is sent; the next ones are for when a simulation or the budget refuses those before. */
const MOST = 10;

/**
 * Ends rounds that all have paid or whose time is over, or cancels circles that have not started in time. Contracts list
 * which of their active circles these are. The list is gone through from where the last one was sent, again and again,
 * so that each circle gets its turn, however many there are. One that moves in the list may wait for the next time.
 * Contracts without such a list are skipped. Each kind has a separate finder and a separate turn: opening circles costs
 * nothing, so circles to be cancelled could otherwise keep members of other circles from being paid out.
 */
export function circleFinder(kind: keyof typeof DUE): Job {
  const [dueCode, functionName] = DUE[kind];
  /** By contract, the position in its list at which to continue. */
  const positions = new Map<Address, number>();
  const ofContract = async (node: KeeperNode, contract: Address): Promise<Task[]> => {
    for (let page = 0; page < PAGES; page++) {
      const position = positions.get(contract) ?? 0;
      const found = await node.read(contract, circles, 'activeCircles', [
        BigInt(position),
        BigInt(CIRCLES_PAGE),
      ]);
      if (!found) return [];
      const [circleIds, codes] = found;
      const due = codes.flatMap((code, i) => (code === dueCode ? [i] : []));
      const isEnd = circleIds.length < CIRCLES_PAGE && due.length <= MOST;
      positions.set(contract, isEnd ? 0 : position + (due[MOST] ?? CIRCLES_PAGE));
      const tasks = due.slice(0, MOST).map((i): Task => ({
        ...{ kind, contract, budgetPart: BUDGET_PART },
        subject: `circle ${circleIds[i]} of ${contract}`,
        data: encodeFunctionData({ abi: circles, functionName, args: [circleIds[i]] }),
        ended: () => void positions.set(contract, position + i + 1),
      }));
      // After the end of the list, it continues at the beginning.
      if (tasks.length > 0 || (isEnd && position === 0)) return tasks;
    }
    return [];
  };
  return (node, contracts, attempts) =>
    attempts.each(contracts.get('rotating'), (contract) => ofContract(node, contract));
}

const compounders = parseAbi([
  'struct Compounder { bytes16 poolId; address account; }',
  'function compounders(uint256 from, uint256 count) view returns (Compounder[] found, uint256[] amounts)',
  'function compound(bytes16[] poolIds, address[] accounts)',
]);
/** Accounts of a contract's list that are looked at in a round, by one call, however long it is. */
const COMPOUNDERS_PAGE = 200;
/** Accounts in one transaction: each takes some 45,000 gas. */
const BATCH = 10;

/**
 * Pays yield in again for the accounts that have said so to their contract. Its list is gone through page by page, again
 * and again. Each page gets one transaction a turn, in which its pools alternate: many accounts of one pool do not keep
 * others waiting. Contracts that cannot compound are skipped.
 * @param least yield at a contract, in smallest token units, that is worth the gas; its minimum holds besides
 */
export function compoundingFinder(least: (contract: string) => bigint): Job {
  /** By contract, where in its list the next page begins. */
  const positions = new Map<Address, number>();
  return (node, contracts, attempts) =>
    attempts.each(new Set([...contracts.values()].flat()), async (contract) => {
      const position = positions.get(contract) ?? 0;
      const page = [BigInt(position), BigInt(COMPOUNDERS_PAGE)] as const;
      const answer = await node.read(contract, compounders, 'compounders', page);
      if (!answer) return undefined;
      const [found, amounts] = answer;
      const ended = (): void =>
        void positions.set(contract, found.length < COMPOUNDERS_PAGE ? 0 : position + COMPOUNDERS_PAGE);
      const batch = alternating(
        found.filter((_, i) => amounts[i] > 0n && amounts[i] >= least(contract)),
      ).slice(0, BATCH);
      if (batch.length === 0) {
        ended();
        return undefined;
      }
      const args = [batch.map(({ poolId }) => poolId), batch.map(({ account }) => account)] as const;
      return {
        ...{ kind: 'compound', contract, ended },
        subject: `yield of ${batch.length} at ${contract}`,
        data: encodeFunctionData({ abi: compounders, functionName: 'compound', args }),
        budgetPart: BUDGET_PART,
      };
    });
}

/** The first of each pool, then the second of each, and so on. */
function alternating<T extends { poolId: Hex }>(items: readonly T[]): T[] {
  const counts = new Map<Hex, number>();
  const ranked = items.map((item) => {
    const rank = counts.get(item.poolId) ?? 0;
    counts.set(item.poolId, rank + 1);
    return { item, rank };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}
