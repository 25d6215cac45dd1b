import type { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeFunctionData, parseAbi } from 'viem';
import {
  type AtCursor,
  type Call,
  type Holding,
  type Question,
  ethCall,
  questionsOf,
} from '#verify/contract/holdings';
import { LAST_EVENTS, LEDGER_HOLDINGS } from './chain.sql';
import type { Difference, Findings } from './findings';

const abi = parseAbi(['function seq() view returns (uint64)']);

type Choose = (all: Question[]) => Question[];
type Accounts = [after: string, most: number | null, only: string[] | null];
/** The node does not answer, or cannot answer this. */
export class NotComparable extends Error {}
/** No endpoint has the cursor's block, or too few have it to decide which is right. This may change later. */
export class OtherBlock extends Error {}

/** The endpoints of the chain. */
export interface AskedChain {
  /**
   * Asks those that have the ledger's block, before and after the calls.
   * @returns for each call its answer, or an Error
   * @throws OtherBlock, or other errors when no endpoint answers or there is no majority
   */
  ask(calls: Call[], at: AtCursor): Promise<unknown[]>;
}

/** After so many calls, check again that the node still has the cursor's block. */
const CALLS_PER_CHECK = 500;
/** Values of a pool that are loaded at once. */
const MOST_VALUES = 5000;
const MAX_TRIES = 10;
const RETRY_MS = 500;
/** A difference counts when it was seen so many times, as a balancer may ask a node that is on another block. */
export const MIN_SIGHTINGS = 3;

/** Compares the ledger with the contracts' own state at the ledger's block. */
export class ChainComparison {
  /** Contracts that do not say how many events they have. */
  readonly unnumbered = new Set<string>();

  constructor(
    protected readonly client: Client,
    protected readonly endpoints: AskedChain,
    protected readonly findings: Findings,
    private readonly signal: AbortSignal,
  ) {}

  /** All values of pools. @throws NotComparable */
  async pools(ids: string[]): Promise<void> {
    this.findings.count('pools on the chain', ids.length);
    for (let after: string | null = ''; after !== null && !this.signal.aborted;)
      after = await this.part(ids, after, MOST_VALUES);
  }

  /**
   * The next values of pools after one, in the order of pools and accounts.
   * @param most about how many
   * @returns the last one, null at the end. @throws NotComparable
   */
  async part(ids: string[], after: string, most: number): Promise<string | null> {
    let last: string | null | undefined;
    await this.holdings(ids, [after, most, null], (all) => {
      all.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
      // What differs is asked for again, by itself.
      if (last === undefined) last = all[most - 1]?.id ?? null;
      const end = last;
      return end === null ? all : all.filter(({ id }) => id <= end);
    });
    return last ?? null;
  }

  /** These values: pools, or pools with an account. @throws NotComparable */
  async values(values: string[]): Promise<void> {
    const wanted = new Set(values);
    const [ids, accounts] = [0, 1].map((i) => [...new Set(values.map((value) => value.split(' ')[i] ?? ''))]);
    await this.holdings(ids, ['', null, accounts], (all) => all.filter(({ id }) => wanted.has(id)));
  }

  private async holdings(ids: string[], accounts: Accounts, choose: Choose): Promise<void> {
    const { asked, differing } = await this.certain(ids, (some) => this.askHoldings(some, accounts, choose));
    const yields = asked.filter(({ kind }) => kind === 'chain.claimable').length;
    this.findings.count('balances on the chain', asked.length - yields);
    this.findings.count('claimable yields on the chain', yields);
    differing.forEach((each) => this.findings.add(each));
  }

  /** Compares the number of events read with each contract's own count. @throws NotComparable */
  async counts(contracts: string[]): Promise<void> {
    const { differing } = await this.certain(contracts, (some) => this.askCounts(some));
    this.findings.count('contracts', contracts.length);
    differing.forEach((each) => this.findings.add(each));
  }

  /** Asks again for values that differ, each time with the current ledger. */
  protected async certain(
    keys: string[],
    compare: (keys: string[]) => Promise<Asked>,
  ): Promise<{ asked: Question[]; differing: Difference[] }> {
    const first = await this.patiently(() => compare(keys));
    let { differing } = first;
    for (let sightings = 1; sightings < MIN_SIGHTINGS && differing.length > 0; sightings += 1) {
      const again = [...new Set(differing.map(({ key }) => key))];
      ({ differing } = await this.patiently(() => compare(again)));
    }
    return { asked: first.asked, differing: differing.map(({ difference }) => difference) };
  }

  /** Repeats the work until the node has the cursor's block. Either of them may be moving. */
  protected async patiently<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof OtherBlock)) throw error;
        if (tries === MAX_TRIES || this.signal.aborted) throw new NotComparable(error.message);
        await this.pause();
      }
    }
  }

  protected async pause(): Promise<void> {
    await sleep(RETRY_MS, undefined, { signal: this.signal }).catch(() => undefined);
  }

  private async askHoldings(ids: string[], accounts: Accounts, choose: Choose): Promise<Asked> {
    const { rows } = await this.client.query<Holding>(LEDGER_HOLDINGS, [ids, ...accounts]);
    if (rows.length === 0) return { asked: [], differing: [] };
    const questions = choose(rows.flatMap(questionsOf)).map((each) => ({
      ...each,
      key: each.id.split(' ')[0],
    }));
    return { asked: questions, differing: await this.compare(rows[0], questions) };
  }

  private async askCounts(contracts: string[]): Promise<Asked> {
    type Last = AtCursor & Record<'contract' | 'seq' | 'block', string>;
    const { rows } = await this.client.query<Last>(LAST_EVENTS, [contracts]);
    if (rows.length === 0) return { asked: [], differing: [] };
    const data = encodeFunctionData({ abi, functionName: 'seq' });
    const questions = rows.map(({ contract, seq, block }) => ({
      key: contract,
      kind: 'chain.seq',
      id: contract,
      wanted: BigInt(seq),
      call: ethCall(contract, data, block),
    }));
    return { asked: questions, differing: await this.compare(rows[0], questions) };
  }

  protected async compare(cursor: AtCursor, questions: (Question & { key: string })[]): Promise<Keyed[]> {
    const differing: Keyed[] = [];
    for (let i = 0; i < questions.length; i += CALLS_PER_CHECK) {
      const some = questions.slice(i, i + CALLS_PER_CHECK);
      const answers = await this.endpoints.ask(
        some.map(({ call }) => call),
        cursor,
      );
      some.forEach((question, index) => {
        const { key, kind, id, wanted } = question;
        const value = amountOf(answers[index], question);
        const isUnnumbered = kind === 'chain.seq' && lacksFunction(answers[index]);
        if (isUnnumbered && value !== wanted) this.unnumbered.add(id);
        else if (typeof value === 'string') this.findings.skip(value);
        else if (value !== wanted)
          differing.push({
            key,
            // The chain knows its balances, so it is the ledger that differs.
            difference: { kind, id, found: wanted.toString(), wanted: value.toString(), mended: false },
          });
      });
    }
    return differing;
  }
}

type Asked = Record<'asked', Question[]> & Record<'differing', Keyed[]>;
type Keyed = Record<'key', string> & Record<'difference', Difference>;

/** Whether the contract lacks the function that was asked for. */
const lacksFunction = (answer: unknown): boolean =>
  answer === '0x' || (answer instanceof Error && 'isRevert' in answer && answer.isRevert === true);

/** @returns the amount, or the reason why there is none: the contract lacks the function, or the node the state */
function amountOf(answer: unknown, { kind, call, wanted }: Question): bigint | string {
  const [{ to }] = call[1] as [{ to: string }];
  if (answer instanceof Error) return `${kind} of contract ${to}: ${answer.message}`;
  // Without a contract there is no balance.
  if (answer === '0x' && wanted === 0n) return 0n;
  if (typeof answer !== 'string' || !/^0x[0-9a-f]{1,128}$/i.test(answer))
    return `${kind} of contract ${to}: it does not tell`;
  return BigInt(answer);
}
