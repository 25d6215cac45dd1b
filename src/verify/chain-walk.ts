import type { Client } from 'pg';
import { type AskedChain, ChainComparison } from '#verify/checks/chain';
import { CONTRACTS } from '#verify/checks/chain.sql';
import type { Findings } from '#verify/checks/findings';
import { NEXT_POOLS } from '#verify/checks/pools.sql';
import { BalanceComparison } from '#verify/shares/balances';
import { NEXT_HOLDERS } from '#verify/shares/shares.sql';

/** The chain, with a limit of calls in each round. Asking throws when they are used up. */
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

/** Pools whose values are put together into one part. */
const POOLS_AT_ONCE = 20;
/** Contracts that are asked for their count in a round. */
const CONTRACTS_AT_ONCE = 5;
/** Values that differed and are asked for again in a round. */
const MOST_AGAIN = 20;
export const FIRST_VALUE = '00000000-0000-0000-0000-000000000000';

/** Sorts behind all ids and addresses. */
const BEHIND = '~';
const QUERY_CANCELED = '57014';
const poolOf = (value: string): string => value.split(' ')[0];

/** Holds the ledger's pools against the chain, value by value, as many in a round as the calls suffice for. */
export class ChainWalk {
  private contract = 0;

  constructor(
    private readonly chain: CappedChain,
    private readonly signal: AbortSignal,
  ) {}

  /** Whether there are calls for another part. One that differs takes more: the next round begins with it. */
  get hasCalls(): boolean {
    return this.chain.left > this.chain.cost(this.chain.values);
  }

  /** How many values that differed may be asked for again: each has up to three questions, which are asked three times. */
  get again(): number {
    let count = 0;
    while (count < MOST_AGAIN && 3 * this.chain.cost(3 * (count + 1)) <= this.chain.left) count += 1;
    return count;
  }

  begin(): Promise<void> {
    return this.chain.begin();
  }

  /** The counts of some contracts, by turns. */
  async counts(client: Client, findings: Findings): Promise<void> {
    const { rows } = await client.query<{ address: string }>(`${CONTRACTS} ORDER BY address`);
    const from = this.contract < rows.length ? this.contract : 0;
    const some = rows.slice(from, from + CONTRACTS_AT_ONCE).map(({ address }) => address);
    this.contract = from + some.length;
    await this.comparison(client, findings).counts(some);
  }

  /**
   * The shares of the next accounts of vaults after one.
   * @returns the last one, null at the end; and how many accounts are done
   */
  async shares(
    client: Client,
    after: string,
    findings: Findings,
  ): Promise<{ last: string | null; accounts: number }> {
    const { rows } = await client.query<{ key: string }>(NEXT_HOLDERS, [
      ...after.split(' '),
      this.chain.values,
    ]);
    const keys = rows.map(({ key }) => key);
    if (keys.length > 0) await this.balances(client, findings).balances(keys);
    return { last: keys.length < this.chain.values ? null : keys.at(-1)!, accounts: keys.length };
  }

  /** Asks again for these values, of contracts, of accounts of vaults, or of pools. */
  async askAgain(client: Client, values: string[], findings: Findings): Promise<void> {
    const [contracts, holders] = [false, true].map((isHolder) =>
      values.filter((value) => value.startsWith('0x') && value.includes(' ') === isHolder),
    );
    const comparison = this.comparison(client, findings);
    if (contracts.length > 0) await comparison.counts(contracts);
    if (holders.length > 0) await this.balances(client, findings).balances(holders);
    const ofPools = values.filter((value) => !value.startsWith('0x'));
    if (ofPools.length > 0) await comparison.values(ofPools);
  }

  /**
   * The next values after one, in the order of pools and accounts.
   * @returns the last one, null at the end of all pools; and how many pools are done
   */
  async next(
    client: Client,
    after: string,
    findings: Findings,
    most = POOLS_AT_ONCE,
  ): Promise<{ last: string | null; pools: number }> {
    const { rows } = await client.query<{ id: string }>(NEXT_POOLS, [poolOf(after), most]);
    const ids = rows.map(({ id }) => id);
    let last: string | null = null;
    // The pool of the value itself may have more accounts.
    const some = after.endsWith(BEHIND) ? ids : [poolOf(after), ...ids];
    try {
      last = await this.comparison(client, findings).part(some, after, this.chain.values);
    } catch (error) {
      if ((error as { code?: string }).code !== QUERY_CANCELED) throw error;
      if (most > 1) return this.next(client, after, findings, 1);
      findings.skip(`pools ${some.join(', ')}: the ledger takes too long`);
    }
    if (last !== null) {
      const begun = poolOf(last);
      return { last, pools: ids.filter((id) => id < begun).length };
    }
    return { last: rows.length < most ? null : `${ids.at(-1)!} ${BEHIND}`, pools: ids.length };
  }

  private comparison(client: Client, findings: Findings): ChainComparison {
    return new ChainComparison(client, this.chain, findings, this.signal);
  }

  private balances(client: Client, findings: Findings): BalanceComparison {
    return new BalanceComparison(client, this.chain, findings, this.signal);
  }
}
