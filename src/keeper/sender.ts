import { Logger } from '@nestjs/common';
import { type Hash, type Hex, keccak256 } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { ChainUnavailable } from '#ledger/chain/chain-rpc';
import type { Fees, KeeperNode } from './node';
import type { Attempts, Task } from './jobs';
import type { KeeperState, KeeperTelemetry } from './telemetry';

/** A transaction that waits for longer is replaced by one that pays more. */
export const STUCK_MS = 45_000;
/** In percent. Nodes take a replacement only if it pays a tenth more, some an eighth. */
const RAISE = 125n;
/** More than any of the calls takes. A contract that wants more is not paid for. */
const MOST_GAS = 1_000_000n;
/** At least so much of what a transaction may cost counts as spent. An honest one costs more, as a rule. */
const LEAST_SHARE = 4n;
/** Of one nonce, the transactions whose receipt is asked for: the latest. */
const MOST_HASHES = 20;
const DAY_MS = 86_400_000;

/** The one transaction of the account that is not mined yet. */
interface Waiting {
  nonce: number;
  since: number;
  /** What a replacement must pay more than. undefined: the node has nothing to replace. */
  fees?: Fees;
  /** Wei that it may cost, whichever of them is mined. */
  most: bigint;
  /** undefined: it was sent by another process of this account, perhaps before a restart. */
  task?: Task;
  signed?: Hex;
  hashes: Hash[];
}

/**
 * Sends transactions of one account, one at a time. Whatever becomes of them shows by the account's nonce: a
 * transaction has the first nonce that is not mined, so of several processes with this account, and of several
 * transactions in each other's place, only one is ever mined.
 */
export class Sender {
  private readonly logger = new Logger(Sender.name);
  /** In the last 24 hours. Each process counts only its own; the account's balance bounds them all. */
  private spent: { at: number; wei: bigint }[] = [];
  private waiting?: Waiting;
  /** By contract and kind, when something was last sent for it. */
  private readonly served = new Map<string, number>();
  /** By call, when it was last mined: of several nodes, some may not know for a while. */
  private readonly mined = new Map<string, number>();
  /** By call that is due, since when transactions of others would do it. */
  private readonly left = new Map<string, number>();
  private firstFree = { nonce: 0, since: 0 };

  constructor(
    private readonly account: PrivateKeyAccount,
    private readonly chainId: number,
    private readonly node: KeeperNode,
    private readonly telemetry: KeeperTelemetry,
    /** Wei in 24 hours. */
    private readonly budget: bigint,
  ) {}

  /** Whether nothing of the account waits, or what waits does so for too long. */
  async isReady(): Promise<boolean> {
    const nonces = await this.nonces();
    if (this.waiting && nonces.mined > this.waiting.nonce && !(await this.conclude(this.waiting)))
      return false;
    if (!this.waiting && nonces.waiting > nonces.mined) {
      const fees = await this.node.fees();
      this.waiting = { nonce: nonces.mined, since: Date.now(), fees, most: 0n, hashes: [] };
    }
    if (!this.waiting) return true;
    if (Date.now() - this.waiting.since <= STUCK_MS) return false;
    // A reorganisation took back what was before it.
    if (nonces.mined < this.waiting.nonce) this.waiting.nonce = nonces.mined;
    // It was refused or dropped. Fees that went up each time would leave the budget, whatever the chain's are.
    if (nonces.waiting <= this.waiting.nonce) this.waiting.fees = undefined;
    return true;
  }

  /** Sends the first of the tasks that would go through, in place of what waits. Ask `isReady` before. */
  async sendOne(tasks: Task[], attempts: Attempts): Promise<KeeperState> {
    let state: KeeperState = 'idle';
    const due = new Set(tasks.map(callOf));
    for (const call of this.left.keys()) if (!due.has(call)) this.left.delete(call);
    const lastServed = (task: Task): number => this.served.get(turnOf(task)) ?? 0;
    // A contract that always wants something gets its turn, and no more; and so does each kind of its work.
    for (const task of this.notYetMined(tasks).sort((a, b) => lastServed(a) - lastServed(b))) {
      const gas = await attempts.of(() => this.gasOf(task));
      if (gas === undefined) {
        task.ended?.();
        continue;
      }
      // Another task may take less, but if one is left for want of money, that is reported.
      const next = await this.send(task, gas);
      if (next === 'sending') return next;
      state = next;
    }
    // What may not be paid more for may still be mined as it is.
    if (state !== 'idle' && this.waiting?.signed) await this.broadcast(this.waiting.signed);
    return state;
  }

  private notYetMined(tasks: Task[]): Task[] {
    for (const [call, at] of this.mined) if (Date.now() - at > STUCK_MS) this.mined.delete(call);
    return tasks.filter((task) => !this.mined.has(callOf(task)));
  }

  /** Also of a node that is behind another one that was asked before. */
  private async nonces(): Promise<{ mined: number; waiting: number }> {
    const { mined, waiting } = await this.node.nonces(this.account.address);
    const { nonce, since } = this.firstFree;
    return { mined: Date.now() - since > STUCK_MS ? mined : Math.max(mined, nonce), waiting };
  }

  private async gasOf(task: Task): Promise<bigint | undefined> {
    const { address } = this.account;
    const { contract, data } = task;
    const gas = await this.node.gasOf(address, contract, data);
    if (gas === undefined) return undefined;
    // What waits of our own is replaced; what waits of others may do it, but perhaps it is never mined.
    if (!this.waiting && (await this.node.failsAfterWaiting(address, contract, data))) {
      const since = this.left.get(callOf(task)) ?? Date.now();
      this.left.set(callOf(task), since);
      if (Date.now() - since <= STUCK_MS) return undefined;
    }
    return (gas * 5n) / 4n;
  }

  private async send(task: Task, gas: bigint): Promise<KeeperState> {
    const before = this.waiting;
    const fees = raised(await this.node.fees(), before?.fees);
    const most = gas * fees.maxFeePerGas;
    if (gas > MOST_GAS || !this.allows(most, task.budgetPart)) return 'over_budget';
    const balance = await this.node.balance(this.account.address);
    this.telemetry.hasBalance(balance);
    if (balance < most) return 'without_funds';
    const nonce = before?.nonce ?? (await this.nonces()).mined;
    const { contract: to, data } = task;
    const transaction = { type: 'eip1559', chainId: this.chainId, nonce, to, data, gas, ...fees } as const;
    const signed = await this.account.signTransaction(transaction);
    const hash = keccak256(signed);
    // Before it is sent: whether it was, without an answer, nobody knows.
    const hashes = [...new Set([...(before?.hashes ?? []), hash])].slice(-MOST_HASHES);
    const dearest = before && before.most > most ? before.most : most;
    this.waiting = { nonce, since: Date.now(), fees, most: dearest, task, signed, hashes };
    this.served.set(turnOf(task), Date.now());
    this.left.delete(callOf(task));
    task.ended?.();
    this.telemetry.hasSent(task.kind);
    this.logger.log(`${task.kind}, ${task.subject}: ${before ? 'replaced by' : 'sent'} ${hash}`);
    await this.broadcast(signed);
    return 'sending';
  }

  /** Whether `wei` more fits the budget, or one of `part` equal parts of it. */
  private allows(wei: bigint, part = 1n): boolean {
    return (this.lastDay + wei) * part <= this.budget;
  }

  private get lastDay(): bigint {
    this.spent = this.spent.filter(({ at }) => at > Date.now() - DAY_MS);
    return this.spent.reduce((sum, { wei }) => sum + wei, 0n);
  }

  private async broadcast(signed: Hex): Promise<void> {
    try {
      await this.node.send(signed);
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      this.logger.warn(`${keccak256(signed)} may not have been sent: ${error.message}`);
    }
  }

  /**
   * The nonce is mined: by one of ours, or by another process.
   * @returns false while one of several nodes may not know the receipt yet, or what another process has done
   */
  private async conclude({ nonce, hashes, task, since, most }: Waiting): Promise<boolean> {
    const receipts = await Promise.all(hashes.map((hash) => this.node.receipt(hash)));
    const receipt = receipts.find((each) => each !== undefined);
    if (task && !receipt && Date.now() - since <= STUCK_MS) return false;
    this.waiting = undefined;
    this.firstFree = { nonce: nonce + 1, since: Date.now() };
    if (!task) return false;
    if (receipt) this.mined.set(callOf(task), Date.now());
    const outcome = receipt ? (receipt.succeeded ? 'succeeded' : 'reverted') : 'lost';
    this.telemetry.hasEnded(task.kind, outcome, receipt?.cost ?? 0n);
    // Without a receipt the worst counts, and with one a part of it, so that a node that hides them, or tells of no
    // cost, cannot make the keeper spend without end.
    const least = most / LEAST_SHARE;
    const cost = receipt?.cost ?? most;
    this.spent.push({ at: Date.now(), wei: cost > least ? cost : least });
    this.logger.log(`${task.kind}, ${task.subject}: ${outcome}`);
    return true;
  }
}

const callOf = ({ contract, data }: Task): string => contract + data;
const turnOf = ({ contract, kind }: Task): string => contract + kind;

function raised(now: Fees, before: Fees | undefined): Fees {
  if (!before) return now;
  const above = (fee: bigint, old: bigint): bigint => {
    const least = (old * RAISE) / 100n + 1n;
    return fee > least ? fee : least;
  };
  return {
    maxFeePerGas: above(now.maxFeePerGas, before.maxFeePerGas),
    maxPriorityFeePerGas: above(now.maxPriorityFeePerGas, before.maxPriorityFeePerGas),
  };
}
