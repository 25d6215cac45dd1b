import { type Address, decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem';
import type { KeeperNode } from './node';
import type { Job, Task } from './task';

const abi = parseAbi([
  'function activeCircles(uint256 from, uint256 count) view returns (uint64[] circleIds, uint8[] due)',
  'function endRound(uint64 circleId)',
  'function cancelCircle(uint64 circleId)',
]);

/** What the contract says is due, by kind of task, and the call that does it. */
const CALLS = {
  end_round: { due: 1, functionName: 'endRound' },
  cancel_circle: { due: 2, functionName: 'cancelCircle' },
} as const;

/** So many of a contract's list are looked at by one call. Each takes the node some 7,000 gas. */
const PAGE = 1000;
/** So many calls in a round, however long the list is. */
const PAGES = 5;
/** Tasks of a round. One is sent; the next ones are for when a simulation or the budget refuses those before. */
const MOST = 10;
/** Such a part of the budget. Anyone may open circles that cost the keeper much; draws are opened by owners. */
const BUDGET_PART = 2n;

/**
 * Ends rounds that all have paid or whose time is over, or cancels circles that have not started in time. Contracts tell
 * which of their active circles these are. The list is gone through from where the last one was sent, again and again,
 * so that each circle gets its turn, however many there are. One that moves in the list may wait for the next time.
 */
export class Circles {
  /** By contract, where in its list to go on. */
  private readonly places = new Map<Address, number>();

  constructor(private readonly kind: keyof typeof CALLS) {}

  /** Contracts that do not tell are passed over. */
  readonly find: Job = (node, contracts, attempts) =>
    attempts.each(contracts.get('rotating'), (contract) => this.ofContract(node, contract));

  private async ofContract(node: KeeperNode, contract: Address): Promise<Task[]> {
    let place = this.places.get(contract) ?? 0;
    let began = place;
    for (let page = 0; page < PAGES; page++) {
      const found = await read(node, contract, place);
      if (!found) return [];
      const [circleIds, due] = found;
      const places = [...circleIds.keys()].filter((i) => due[i] === CALLS[this.kind].due);
      const tasks = places.slice(0, MOST).map((i) => this.task(contract, circleIds[i], place + i));
      const isEnd = circleIds.length < PAGE && places.length <= MOST;
      place = isEnd ? 0 : place + (places.length > MOST ? places[MOST] : PAGE);
      this.places.set(contract, place);
      if (tasks.length > 0) return tasks;
      // All of the list was seen, from where it began to its end, and from the start on.
      if (place === 0 && began === 0) return [];
      if (place === 0) began = 0;
    }
    return [];
  }

  private task(contract: Address, circleId: bigint, place: number): Task {
    const { functionName } = CALLS[this.kind];
    return {
      kind: this.kind,
      contract,
      data: encodeFunctionData({ abi, functionName, args: [circleId] }),
      subject: `circle ${circleId} of ${contract}`,
      budgetPart: BUDGET_PART,
      ended: () => void this.places.set(contract, place + 1),
    };
  }
}

/** @returns undefined if the contract has no such list */
async function read(node: KeeperNode, contract: Address, place: number) {
  const functionName = 'activeCircles';
  const args = [BigInt(place), BigInt(PAGE)] as const;
  const answer = await node.read(contract, encodeFunctionData({ abi, functionName, args }));
  return answer && decodeFunctionResult({ abi, functionName, data: answer });
}
