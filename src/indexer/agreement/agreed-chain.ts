import { type Hex, decodeFunctionResult, encodeFunctionData, multicall3Abi } from 'viem';
import { OtherBlock } from '#verify/checks/chain';
import { type AtCursor, CallsUsedUp, type CappedChain } from '#verify/contract/holdings';
import { acceptedClaim } from './vote';
import { ownLogs } from '#indexer/reading/block-batch';
import type { RawLog } from '#indexer/reading/decode';
import { type RawBlock, headerCall, hex, toBlock } from '#indexer/reading/raw-chain';
import { type Call, RetryableChainError, RpcError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';

/** Calls to one endpoint in a round. */
const MOST_CALLS = 100;
/** Values in a part. Its calls have to fit into a round three times: so often is asked for what differs. */
const VALUES = { packed: 500, single: 25 };
/** Multicall3 has the same address on every chain that has it. */
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11';
const AGGREGATE = { abi: multicall3Abi, functionName: 'aggregate3' } as const;
/** Views in one call: a node limits the gas of `eth_call`, often to 50 million. */
const VIEWS_AT_ONCE = 100;

interface Asked {
  endpoint: WatchedEndpoint;
  isPacked: boolean;
}

/**
 * The chain as verification asks it: all healthy endpoints that have the ledger's block are asked, and the answer of
 * the majority counts. Each round has a limit of calls, which are never retried, and its results do not affect the
 * choice of the reader. The command has no limit of calls, and rests endpoints that do not answer for a while.
 */
export class AgreedChain implements CappedChain {
  private used = 0;
  private asked: Asked[] = [];

  constructor(
    private readonly endpoints: WatchedEndpoint[],
    private readonly agree: number,
    private readonly inRounds = true,
  ) {}

  get values(): number {
    return this.asked.every(({ isPacked }) => isPacked) ? VALUES.packed : VALUES.single;
  }

  /** Begins a round. */
  async begin(): Promise<void> {
    this.used = 1;
    this.asked = await Promise.all(
      this.heard().map(async (endpoint) => {
        const found = await this.settled(endpoint, [['eth_getCode', [MULTICALL, 'latest']]]);
        const code = Array.isArray(found) ? found[0] : undefined;
        return { endpoint, isPacked: typeof code === 'string' && code.length > 2 };
      }),
    );
  }

  /** @throws OtherBlock, or Error when no endpoint answers or there is no majority */
  async ask(calls: Call[], at: AtCursor): Promise<unknown[]> {
    const asked = this.inRounds
      ? this.asked
      : this.heard().map((endpoint) => ({ endpoint, isPacked: false }));
    const groups = grouped(calls);
    // A header before and one after the values.
    this.used += 2 + (asked.every(({ isPacked }) => isPacked) ? groups.length : calls.length);
    if (this.inRounds && this.used > MOST_CALLS) throw new CallsUsedUp('the calls of this round are used up');
    const found = await Promise.all(
      asked.map(async ({ endpoint, isPacked }) => {
        const answers = await this.atBlock(endpoint, isPacked ? groups.map(aggregate) : calls, at);
        if (answers instanceof Error || !isPacked) return answers;
        return answers.flatMap((answer, i) => resultsOf(answer, groups[i]));
      }),
    );
    const failures = found.filter((each) => each instanceof Error);
    if (failures.length === found.length)
      throw (
        failures.find((each) => each instanceof OtherBlock) ?? failures[0] ?? new Error('no endpoint answers')
      );
    return calls.map((call, i) => {
      // An endpoint that lacks the block has a vote: a single endpoint that has it proves nothing.
      const said = found.flatMap((each) =>
        each instanceof LackedBlock ? [undefined] : each instanceof Error ? [] : [each[i]],
      );
      return this.judge(call, said, failures.length > 0);
    });
  }

  /** Endpoints that vote. If all are resting, the command asks them anyway. */
  private heard(): WatchedEndpoint[] {
    const heard = this.endpoints.filter((each) => each.heard);
    return heard.length > 0 || this.inRounds ? heard : this.endpoints;
  }

  /** The answers of one endpoint, if it has the block, and with it all earlier ones, before and after the calls. */
  private async atBlock(endpoint: WatchedEndpoint, calls: Call[], at: AtCursor): Promise<unknown[] | Error> {
    const header = headerCall(Number(at.cursorNumber));
    const found: unknown[][] = [];
    // The answers may come from another branch.
    for (const some of [[header], calls, [header]]) {
      const answers = await this.settled(endpoint, some);
      if (answers instanceof Error) return answers;
      const other = some !== calls && otherThan(at, answers[0]);
      if (other) return other;
      found.push(answers);
    }
    return found[1];
  }

  private async settled(endpoint: WatchedEndpoint, calls: Call[]): Promise<unknown[] | Error> {
    try {
      const { rpc } = endpoint.source;
      const answers = await (this.inRounds
        ? rpc.settled(calls, 0)
        : rpc.settled(calls, undefined, 'other', rpc.historyMs));
      if (!this.inRounds) endpoint.agreed();
      return answers;
    } catch (error) {
      if (!(error instanceof RetryableChainError)) throw error;
      if (!this.inRounds) endpoint.failed('failing');
      return error;
    }
  }

  /** @param mayChange whether some endpoints did not vote, but may do so later */
  private judge(call: Call, said: unknown[], mayChange: boolean): unknown {
    const used = said.map((answer) => usedOf(answer, call));
    const claims = used.map(claimOf);
    const accepted = acceptedClaim(claims, this.agree);
    if (accepted >= 0) return used[accepted];
    const different = new Set(claims.filter((claim) => claim !== undefined));
    // None has it: null for a block, or an error.
    if (different.size === 0) return used[0];
    const isOne = different.size === 1;
    const message = isOne ? 'too few endpoints report it' : 'the endpoints do not agree';
    if (mayChange) throw new OtherBlock(message);
    // Some endpoints lack the state of an old block: this value is left out, and the walk goes on.
    if (isOne) return new Error(message);
    // Nothing is concluded, and the walk stays where it is.
    throw new Error(message);
  }
}

class LackedBlock extends OtherBlock {}

/** Why an answer is not the block where the cursor stands; undefined if it is. */
function otherThan({ cursorNumber: number, cursorHash }: AtCursor, answer: unknown): Error | undefined {
  if (answer instanceof Error) return new Error(`block ${number}: ${answer.message}`);
  const hash = (answer as { hash?: unknown } | null)?.hash;
  if (hash === undefined) return new LackedBlock(`the node has no block ${number}, where the cursor stands`);
  return typeof hash === 'string' && hash.toLowerCase() === cursorHash
    ? undefined
    : new OtherBlock(`the node has another block ${number} than the one where the cursor stands`);
}

/** Views of one block, which one call can ask for: continuous verification and the prices ask for nothing else. */
function grouped(calls: Call[]): Call[][] {
  const groups: Call[][] = [];
  const blockOf = ([, [, block]]: Call): unknown => block;
  for (const call of calls) {
    const last = groups.at(-1);
    if (last && last.length < VIEWS_AT_ONCE && blockOf(last[0]) === blockOf(call)) last.push(call);
    else groups.push([call]);
  }
  return groups;
}

function aggregate(group: Call[]): Call {
  const views = group.map(([, [view]]) => view as { to: Hex; data: Hex });
  const args = [views.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))] as const;
  return ['eth_call', [{ to: MULTICALL, data: encodeFunctionData({ ...AGGREGATE, args }) }, group[0][1][1]]];
}

function resultsOf(answer: unknown, group: Call[]): unknown[] {
  if (answer instanceof Error) return group.map(() => answer);
  try {
    const results = decodeFunctionResult({ ...AGGREGATE, data: answer as Hex });
    return group.map((_, i) =>
      results[i].success ? results[i].returnData : new RpcError('eth_call', 3, 'execution reverted', true),
    );
  } catch {
    return group.map(() => new Error('no answer of Multicall3'));
  }
}

type LogFilter = Partial<Record<'fromBlock' | 'toBlock', string> & { address: string[] }>;

/**
 * The part of an answer that verification uses, in one notation, as batches are read: nodes differ in how they write and
 * list things. Nothing else of an answer is passed on, as the endpoints have not voted on it.
 * @returns the error if the answer is malformed
 */
function usedOf(answer: unknown, [method, params]: Call): unknown {
  if (answer === null || answer === undefined || answer instanceof Error) return answer;
  try {
    if (method === 'eth_getBlockByNumber') {
      const { number, hash, parentHash, time } = toBlock(answer as RawBlock);
      return { number: hex(number), hash, parentHash, timestamp: hex(time) };
    }
    if (method === 'eth_getLogs') return usedLogs(answer as RawLog[], params[0] as LogFilter);
    // A receipt is asked for by a hash instead of a filter.
    if (method === 'eth_getTransactionReceipt')
      return { logs: usedLogs((answer as { logs: RawLog[] }).logs) };
    return answer;
  } catch (error) {
    return error;
  }
}

function usedLogs(logs: RawLog[], filter: LogFilter = {}): Omit<RawLog, 'blockNumber'>[] {
  const emitters = logs.map((log) => log.address.toLowerCase());
  const { address = emitters, fromBlock = 0, toBlock: to = Infinity } = filter;
  return ownLogs(address, logs, Number(fromBlock), Number(to)).map((log) => ({
    ...{ address: log.address.toLowerCase(), topics: log.topics, data: log.data.toLowerCase() },
    ...{ blockHash: log.blockHash, transactionHash: log.transactionHash },
    logIndex: hex(Number(log.logIndex)),
  }));
}

/** A text that is the same for equal answers. */
function claimOf(used: unknown): string | undefined {
  if (used === null || used === undefined) return undefined;
  if (used instanceof Error) return used instanceof RpcError && used.isRevert ? 'reverted' : undefined;
  return JSON.stringify(used).toLowerCase();
}
