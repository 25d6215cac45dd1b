import { readFileSync } from 'node:fs';
import {
  type Abi,
  type AbiEvent,
  toEventSelector,
  toEventSignature,
  toFunctionSelector,
  zeroAddress,
} from 'viem';
import { encodeCall, readCall } from '#ledger/adapters/own-call';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { amountOf } from '#verify/checks/chain';
import { type Holding, type Question, ethCall, questionsOf } from '#verify/contract/holdings';
import type { Adapter } from '#indexer/adapters/adapter';
import { decoderOf } from '#indexer/adapters/decoder';
import { withSecond } from '#indexer/ledger/movements';
import { UnreadableEvents } from '#indexer/reading/block-batch';
import { type ChainEvent, type DecodeLog, NOTHING } from '#indexer/reading/decode';
import type { Block } from '#indexer/reading/raw-chain';
import { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { contractsWithoutCode, readTokens } from './contract-facts';

/** A contract that might be followed. */
interface Examined {
  rpcUrl: string;
  /** Lower case. */
  address: string;
  abi: Abi;
  /** The first block with events. */
  from: number;
  /** Undefined: the contract has none yet. */
  adapter?: Adapter;
}

export interface AdapterReport {
  lines: string[];
  /** Whether the adapter fits the ABI, and the sums of logs are what the contract says. */
  fits: boolean;
}

/** The sums of logs, by account. */
type Sums = Map<string, bigint>;
const add = (sums: Sums, key: string, amount: bigint): unknown =>
  sums.set(key, (sums.get(key) ?? 0n) + amount);
const SIGNS: Partial<Record<ChainEvent['kind'], bigint>> = { Deposited: 1n, Withdrawn: -1n };

/** Accounts whose balances are asked for, and differences that are listed. */
const MOST_ASKED = 1000;
const MOST_LISTED = 20;
const WRONG = 'WRONG: ';

/** @throws Error if the file has no ABI, as such or as a compiler writes it */
export function readAbi(file: string): Abi {
  const found = JSON.parse(readFileSync(file, 'utf8')) as { abi?: unknown };
  const abi = Array.isArray(found) ? (found as unknown) : found.abi;
  if (!Array.isArray(abi)) throw new Error(`${file} has no ABI: it is neither a list nor has a list abi`);
  return abi as Abi;
}

/**
 * Reads the contract as its adapter does, and compares the sums of its logs with its views, as `verify` does it.
 * @throws RetryableChainError
 */
export async function adapterReport(examined: Examined): Promise<AdapterReport> {
  const { address, abi, from, adapter } = examined;
  const logs = new Logs(examined);
  const endpoints = rpcEndpoints(examined.rpcUrl).map(
    (each) => new WatchedEndpoint(each, [address], logs.decode, () => undefined),
  );
  const [{ source }] = endpoints;
  if ((await contractsWithoutCode(endpoints, [address])).size > 0)
    return { lines: [`${WRONG}there is no contract at ${address}`], fits: false };
  let [at] = await source.blocks([Math.max(from - 1, 0)]);
  for (let head = await source.latest(); at && head && at.number < head.number;) {
    const batch = await source.read(at, head.number);
    for (const event of batch.events.flatMap(withSecond)) logs.sum(event);
    at = batch.to;
    if (at.number === head.number) head = await source.latest();
  }
  if (!at) throw new Error(`the node lacks block ${from - 1}`);
  const lines = [
    `${address} up to block ${at.number}, read by ${adapter ? adapter.className : 'no adapter yet'}`,
    await tokenLine(endpoints, examined),
    '',
    ...eventLines(abi, adapter, logs),
    ...functionLines(abi, adapter),
    ...(adapter
      ? ['', ...(await sumLines(logs, address, adapter, at, (calls) => source.rpc.settled(calls)))]
      : []),
  ];
  return { lines, fits: !lines.some((line) => line.includes(WRONG)) };
}

/** Sums of the logs by account, whose size does not depend on the number of logs. */
class Logs {
  /** Logs of each topic. */
  readonly counts = new Map<string, number>();
  /** Why logs of a topic cannot be read. */
  readonly unreadable = new Map<string, string>();
  readonly pools = new Map<string, { name: string | null; held: Sums }>();
  readonly shares: Sums = new Map();
  /** Numbers of logs: those that move tokens or shares, those of draws, and those at which the adapter failed. */
  moved = 0;
  draws = 0;
  failed = 0;
  private readonly read: DecodeLog;

  constructor({ address, adapter }: Examined) {
    this.read = adapter ? decoderOf(new Map([[address, adapter]])) : () => 'unread';
  }

  readonly decode: DecodeLog = (log, time) => {
    const topic = log.topics[0] ?? 'none';
    this.counts.set(topic, (this.counts.get(topic) ?? 0) + 1);
    try {
      return this.read(log, time);
    } catch (error) {
      if (!(error instanceof UnreadableEvents)) throw error;
      this.unreadable.set(topic, error.message);
      return 'unread';
    }
  };

  sum({ kind, poolId, poolName, drawId, account, amount, shares }: ChainEvent): void {
    const sign = SIGNS[kind];
    if (sign !== undefined || kind === 'SharesMoved') this.moved += 1;
    if (drawId !== null) this.draws += 1;
    if (poolId === null && drawId === null && kind !== NOTHING) this.failed += 1;
    if (kind === 'SharesMoved') {
      add(this.shares, poolName!, -BigInt(shares!));
      add(this.shares, account!, BigInt(shares!));
    } else if (sign !== undefined && poolId !== null && account !== null) {
      const pool = this.pools.get(poolId) ?? { name: poolName, held: new Map<string, bigint>() };
      this.pools.set(poolId, pool);
      add(pool.held, account, sign * BigInt(amount!));
    }
  }
}

async function tokenLine(endpoints: WatchedEndpoint[], { address, adapter }: Examined): Promise<string> {
  const tokens = await readTokens(endpoints, [address], () => adapter?.token);
  if (!tokens) return 'token: the endpoints do not tell';
  const [token] = tokens.known;
  if (token) return `token: ${token.address} ${token.symbol}, ${token.decimals} decimals`;
  return `${WRONG}token: ${tokens.unknown.get(address)}; \`token\` of the adapter may name another view, an address, or the chain's own coin`;
}

function eventLines(
  abi: Abi,
  { events: read = new Map() }: Partial<Adapter> = {},
  { counts, unreadable }: Logs,
): string[] {
  const line = (name: string, topic: string, reading: string): string => {
    const wrong = unreadable.get(topic);
    const count = counts.get(topic) ?? 0;
    // The log of the indexer and `verify` know topics, and no names.
    const id = count > 0 && reading === 'not read' ? `, topic ${topic}` : '';
    return `event ${name}: ${count} logs, ${wrong ? `${WRONG}${wrong}` : reading}${id}`;
  };
  const layout = ({ inputs }: AbiEvent): string =>
    inputs.map(({ indexed }) => Number(indexed ?? false)).join();
  const known = new Map(
    abi.flatMap((item) => (item.type === 'event' ? [[toEventSelector(item) as string, item]] : [])),
  );
  const names = new Set([...known.values()].map(({ name }) => name));
  return [
    ...[...known].map(([topic, item]) => {
      const { item: expected, place } = read.get(topic) ?? {};
      const isOther = expected && layout(expected) !== layout(item);
      const reading = isOther ? `${WRONG}other parameters are indexed for ${place}` : `read by ${place}`;
      return line(toEventSignature(item), topic, expected ? reading : 'not read');
    }),
    // An adapter may be for several contracts. But an event of the same name is meant to be this one.
    ...[...read]
      .filter(([topic]) => !known.has(topic))
      .map(([topic, { item, place }]) => {
        const wrong = names.has(item.name) ? WRONG : '';
        return line(toEventSignature(item), topic, `${wrong}read by ${place}, and not in the ABI`);
      }),
    ...[...counts.keys()]
      .filter((topic) => !known.has(topic) && !read.has(topic))
      .map((topic) => line(topic, topic, 'not in the ABI, not read')),
  ];
}

/** The functions that the adapter names, and that do not fit the ABI. */
function functionLines(abi: Abi, { token, views, calls }: Partial<Adapter> = {}): string[] {
  const view = typeof token === 'string' && token.endsWith(')') && { token };
  const functions = new Map(
    abi.flatMap((item) => (item.type === 'function' ? [[toFunctionSelector(item) as string, item]] : [])),
  );
  return Object.entries({ ...view, ...views, ...calls }).flatMap(([use, signature]) => {
    const item = functions.get(toFunctionSelector(readCall(signature, use)));
    if (!item) return `${WRONG}${use}: ${signature} is not in the ABI`;
    const isUnpaid = typeof token === 'object' && use === 'deposit' && item.stateMutability !== 'payable';
    return isUnpaid ? `${WRONG}${use}: ${signature} is not payable` : [];
  });
}

async function sumLines(
  logs: Logs,
  address: string,
  adapter: Adapter,
  at: Block,
  ask: (calls: Question['call'][]) => Promise<unknown[]>,
): Promise<string[]> {
  const { moved, draws, failed } = logs;
  const questions = [...poolQuestions(logs, address, adapter, at), ...shareQuestions(logs, address, at)];
  const answers = await ask(questions.map(({ call }) => call));
  const differing: string[] = [];
  const silent = new Set<string>();
  questions.forEach((question, i) => {
    const { kind, id, wanted } = question;
    const value = amountOf(answers[i], question);
    if (typeof value === 'string') silent.add(value);
    else if (value !== wanted)
      differing.push(`${WRONG}${kind} ${id}: the logs say ${wanted}, the contract ${value}`);
  });
  return [
    `sums of ${moved} logs: ${questions.length} views asked, ${differing.length} differ`,
    ...differing.slice(0, MOST_LISTED),
    ...[...silent].map((why) => `${WRONG}${why}`),
    ...(failed > 0 ? [`${WRONG}${failed} logs without effect: the adapter failed at them`] : []),
    ...(moved > 0 && questions.length === 0 ? ['no view says whether the sums are right: name `views`'] : []),
    ...(draws > 0 ? [`draws are not compared: ${draws} logs tell of them`] : []),
  ];
}

/** What accounts have in each pool, and all of them together. */
function poolQuestions({ pools }: Logs, contract: string, adapter: Adapter, at: Block): Question[] {
  const { poolsBy, views = {} } = adapter;
  const { balance = null, total = null } = views;
  const isNamed = poolsBy !== 'reference';
  let left = MOST_ASKED;
  return [...pools].flatMap(([id, { name, held }]) => {
    const holders = [...held]
      .slice(0, left)
      .map(([account, amount]) => ({ account, amount: `${amount}`, position: null }));
    left -= holders.length;
    const holding: Holding = {
      // As the contract names the pool, if it does: nobody knows its id yet.
      id: name ?? id,
      ...{ contract, block: `${at.number}`, cursorNumber: `${at.number}`, cursorHash: at.hash },
      total: holders.length === 0 ? null : `${[...held.values()].reduce((sum, each) => sum + each, 0n)}`,
      holders,
      others: isNamed || balance !== null || total !== null ? { name, isNamed, balance, total } : null,
      circle: false,
    };
    return questionsOf(holding);
  });
}

/** What accounts have of a vault. Each trade has a transfer, too. */
function shareQuestions({ shares }: Logs, contract: string, at: Block): Question[] {
  const item = readCall('balanceOf(address account)', contract);
  const held = [...shares].filter(([account]) => account !== zeroAddress);
  return held.slice(0, MOST_ASKED).map(([account, wanted]) => {
    const data = encodeCall(item, { account: account as `0x${string}` });
    return { kind: 'chain.shares', id: account, wanted, call: ethCall(contract, data, `${at.number}`) };
  });
}
