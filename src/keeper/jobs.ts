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
  ended?: (isSent: boolean) => void;
}

export type JobKind = 'complete_draw' | 'cancel_draw' | 'end_round' | 'cancel_circle' | 'compound';
export type Contracts = ReadonlyMap<PoolType, readonly string[]>;

/** Finds what seems due of a kind: a few calls for each contract, however much there is on it. */
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
    const grace = await node.read(contract, draws, 'GRACE', []);
    return grace !== undefined && (await node.time()) >= drawTime + grace;
  }),
  end_round: new Circles('end_round', 'endRound', 1).find,
  cancel_circle: new Circles('cancel_circle', 'cancelCircle', 2).find,
  compound: new Compounding(least).find,
});

/** Such a part of the budget, for circles and compounding together. The rest is for draws, which others wait for. */
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
  return (node, contracts, attempts) =>
    attempts.each(contracts.get('lottery'), async (contract) => {
      const drawId = await node.read(contract, draws, 'currentDraw', []);
      if (!drawId) return undefined;
      const draw = await node.read(contract, draws, 'drawOf', [drawId]);
      if (!draw || !(await isDue(draw, node, contract))) return undefined;
      const data = encodeFunctionData({ abi: draws, functionName, args: [drawId] });
      return { kind, contract, data, subject: `draw ${drawId} of ${contract}` };
    });
}

const circles = parseAbi([
  'function activeCircles(uint256 from, uint256 count) view returns (uint64[] circleIds, uint8[] due)',
  'function endRound(uint64 circleId)',
  'function cancelCircle(uint64 circleId)',
]);
/** So many of a contract's list are looked at by one call. Each takes the node some 7,000 gas. */
const CIRCLES_PAGE = 1000;
/** So many calls in a round, however long the list is. */
const PAGES = 5;
/** Tasks of a round. One is sent; the next ones are for when a simulation or the budget refuses those before. */
const MOST = 10;

/**
 * Ends rounds that all have paid or whose time is over, or cancels circles that have not started in time. Contracts tell
 * which of their active circles these are. The list is gone through from where the last one was sent, again and again,
 * so that each circle gets its turn, however many there are. One that moves in the list may wait for the next time.
 */
class Circles {
  /** By contract, where in its list to go on. */
  private readonly places = new Map<Address, number>();

  /** @param due what the contract says of a circle for which it is time */
  constructor(
    private readonly kind: JobKind,
    private readonly functionName: 'endRound' | 'cancelCircle',
    private readonly due: number,
  ) {}

  /** Contracts that do not tell are passed over. */
  readonly find: Job = (node, contracts, attempts) =>
    attempts.each(contracts.get('rotating'), (contract) => this.ofContract(node, contract));

  private async ofContract(node: KeeperNode, contract: Address): Promise<Task[]> {
    let place = this.places.get(contract) ?? 0;
    let began = place;
    for (let page = 0; page < PAGES; page++) {
      const args = [BigInt(place), BigInt(CIRCLES_PAGE)] as const;
      const found = await node.read(contract, circles, 'activeCircles', args);
      if (!found) return [];
      const [circleIds, due] = found;
      const places = [...circleIds.keys()].filter((i) => due[i] === this.due);
      const tasks = places.slice(0, MOST).map((i) => this.task(contract, circleIds[i], place + i));
      const isEnd = circleIds.length < CIRCLES_PAGE && places.length <= MOST;
      place = isEnd ? 0 : place + (places.length > MOST ? places[MOST] : CIRCLES_PAGE);
      this.places.set(contract, place);
      if (tasks.length > 0) return tasks;
      // All of the list was seen, from where it began to its end, and from the start on.
      if (place === 0 && began === 0) return [];
      if (place === 0) began = 0;
    }
    return [];
  }

  private task(contract: Address, circleId: bigint, place: number): Task {
    const { kind, functionName } = this;
    return {
      kind,
      contract,
      data: encodeFunctionData({ abi: circles, functionName, args: [circleId] }),
      subject: `circle ${circleId} of ${contract}`,
      budgetPart: BUDGET_PART,
      ended: () => void this.places.set(contract, place + 1),
    };
  }
}

const compounders = parseAbi([
  'struct Compounder { bytes16 poolId; address account; }',
  'function compounders(uint256 from, uint256 count) view returns (Compounder[] found, uint256[] amounts)',
  'function compound(bytes16[] poolIds, address[] accounts)',
]);

/** So many of a contract's list are looked at in a round, by one call, however long it is. */
const COMPOUNDERS_PAGE = 200;
/** Accounts in one transaction: each takes some 45,000 gas. */
const BATCH = 10;
/** An account is left alone for so long after a transaction with it: of several nodes, some may not know it yet. */
const REST_MS = 60_000;
interface Due {
  poolId: Hex;
  account: Address;
}

/**
 * Pays yield in again for the accounts that have said so to their contract. Its list is gone through page by page, again
 * and again. Each page gets one transaction a turn, in which its pools alternate: many accounts of one pool do not keep
 * others waiting.
 */
class Compounding {
  /** By contract, the page that is next. */
  private readonly places = new Map<Address, number>();
  /** By contract, pool and account, when a transaction with it was sent. */
  private readonly sent = new Map<string, number>();

  /** @param least yield at a contract, in smallest token units, that is worth the gas; its minimum holds besides */
  constructor(private readonly least: (contract: string) => bigint) {}

  /** Of each contract one batch at most. Contracts that cannot compound are passed over. */
  readonly find: Job = (node, contracts, attempts) => {
    for (const [key, at] of this.sent) if (Date.now() - at > REST_MS) this.sent.delete(key);
    const all = new Set([...contracts.values()].flat());
    return attempts.each(all, (contract) => this.ofContract(node, contract));
  };

  private async ofContract(node: KeeperNode, contract: Address): Promise<Task | undefined> {
    const place = this.places.get(contract) ?? 0;
    const args = [BigInt(place), BigInt(COMPOUNDERS_PAGE)] as const;
    const answer = await node.read(contract, compounders, 'compounders', args);
    if (!answer) return undefined;
    const [found, amounts] = answer;
    const least = this.least(contract);
    const goOn = (): void =>
      void this.places.set(contract, found.length < COMPOUNDERS_PAGE ? 0 : place + COMPOUNDERS_PAGE);
    const due = found.filter(
      (each, i) => amounts[i] > 0n && amounts[i] >= least && !this.sent.has(keyOf(contract, each)),
    );
    const batch = alternating(due).slice(0, BATCH);
    if (batch.length === 0) {
      goOn();
      return undefined;
    }
    return {
      kind: 'compound',
      contract,
      data: encodeFunctionData({
        abi: compounders,
        functionName: 'compound',
        args: [batch.map(({ poolId }) => poolId), batch.map(({ account }) => account)],
      }),
      subject: `yield of ${batch.length} at ${contract}`,
      budgetPart: BUDGET_PART,
      ended: (isSent) => {
        goOn();
        if (isSent) for (const each of batch) this.sent.set(keyOf(contract, each), Date.now());
      },
    };
  }
}

const keyOf = (contract: Address, { poolId, account }: Due): string => contract + poolId + account;

/** The first of each pool, then the second of each, and so on. */
function alternating<T extends Due>(items: readonly T[]): T[] {
  const counts = new Map<Hex, number>();
  const ranked = items.map((item) => {
    const rank = counts.get(item.poolId) ?? 0;
    counts.set(item.poolId, rank + 1);
    return { item, rank };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}
