import { type Address, type Hex, decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem';
import type { KeeperNode } from './node';
import type { Job, Task } from './task';

const abi = parseAbi([
  'struct Compounder { bytes16 poolId; address account; }',
  'function compounders(uint256 from, uint256 count) view returns (Compounder[] found, uint256[] amounts)',
  'function compound(bytes16[] poolIds, address[] accounts)',
]);

/** So many of a contract's list are looked at in a round, by one call, however long it is. */
const PAGE = 200;
/** Accounts in one transaction: each takes some 45,000 gas. */
const BATCH = 10;
/** An account is left alone for so long after a transaction with it: of several nodes, some may not know it yet. */
const REST_MS = 60_000;
/** Such a part of the budget, together with circles. The rest is for draws, which others wait for. */
const BUDGET_PART = 2n;

interface Due {
  poolId: Hex;
  account: Address;
}

/**
 * Pays yield in again for the accounts that have said so to their contract. Its list is gone through page by page, again
 * and again. Each page gets one transaction a turn, in which its pools alternate: many accounts of one pool do not keep
 * others waiting.
 */
export class Compounding {
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
    const args = [BigInt(place), BigInt(PAGE)] as const;
    const answer = await node.read(contract, encodeFunctionData({ abi, functionName: 'compounders', args }));
    if (!answer) return undefined;
    const [found, amounts] = decodeFunctionResult({ abi, functionName: 'compounders', data: answer });
    const least = this.least(contract);
    const goOn = (): void => void this.places.set(contract, found.length < PAGE ? 0 : place + PAGE);
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
        abi,
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
