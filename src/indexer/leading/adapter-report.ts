import { readFileSync } from 'node:fs';
import {
  type Abi,
  type AbiEvent,
  type AbiFunction,
  toEventSelector,
  toEventSignature,
  toFunctionSelector,
  toFunctionSignature,
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
import { contractsWithoutCode } from './contract-facts';
import { readTokens } from './token';

/** A contract that might be followed. */
export interface Examined {
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
  const events: ChainEvent[] = [];
  let [at] = await source.blocks([Math.max(from - 1, 0)]);
  for (let head = await source.block('latest'); at && head && at.number < head.number;) {
    const batch = await source.read(at, head.number);
    events.push(...batch.events.flatMap(withSecond));
    at = batch.to;
    if (at.number === head.number) head = await source.block('latest');
  }
  if (!at) throw new Error(`the node lacks block ${from - 1}`);
  const lines = [
    `${address} up to block ${at.number}, read by ${adapter ? adapter.className : 'no adapter yet'}`,
    await tokenLine(endpoints, examined),
    '',
    ...eventLines(abi, adapter, logs),
    '',
    ...functionLines(abi, adapter),
    ...(adapter
      ? ['', ...(await sumLines(events, examined, adapter, at, (calls) => source.rpc.settled(calls)))]
      : []),
  ];
  return { lines, fits: !lines.some((line) => line.includes(WRONG)) };
}

/** The topics of all logs. A range may be read several times. */
class Logs {
  /** Why logs of a topic cannot be read. */
  readonly unreadable = new Map<string, string>();
  private readonly topics = new Map<string, string>();
  private readonly read: DecodeLog;

  constructor({ address, adapter }: Examined) {
    this.read = adapter ? decoderOf(new Map([[address, adapter]])) : () => 'unread';
  }

  readonly decode: DecodeLog = (log, time) => {
    const topic = log.topics[0] ?? 'none';
    this.topics.set(`${log.blockHash} ${log.logIndex}`, topic);
    try {
      return this.read(log, time);
    } catch (error) {
      if (!(error instanceof UnreadableEvents)) throw error;
      this.unreadable.set(topic, error.message);
      return 'unread';
    }
  };

  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const topic of this.topics.values()) counts.set(topic, (counts.get(topic) ?? 0) + 1);
    return counts;
  }
}

async function tokenLine(endpoints: WatchedEndpoint[], { address, adapter }: Examined): Promise<string> {
  const tokens = await readTokens(endpoints, [address], () => adapter?.token);
  if (!tokens) return 'token: the endpoints do not tell';
  const [token] = tokens.known;
  if (token) return `token: ${token.address} ${token.symbol}, ${token.decimals} decimals`;
  return `${WRONG}token: ${tokens.unknown.get(address)}; \`token\` of the adapter may name another view, an address, or the chain's own coin`;
}

function eventLines(abi: Abi, adapter: Adapter | undefined, logs: Logs): string[] {
  const counts = logs.counts();
  const line = (name: string, topic: string, reading: string): string => {
    const wrong = logs.unreadable.get(topic);
    const count = counts.get(topic) ?? 0;
    // The log of the indexer and `verify` know topics, and no names.
    const id = count > 0 && reading === 'not read' ? `, topic ${topic}` : '';
    return `event ${name}: ${count} logs, ${wrong ? `${WRONG}${wrong}` : reading}${id}`;
  };
  const known = abi.filter((item): item is AbiEvent => item.type === 'event');
  const topics = new Set<string>(known.map((item) => toEventSelector(item)));
  const layout = ({ inputs }: AbiEvent): string =>
    inputs.map(({ indexed }) => Number(indexed ?? false)).join();
  return [
    ...known.map((item) => {
      const read = adapter?.events.get(toEventSelector(item));
      const isOther = read && layout(read.item) !== layout(item);
      const reading = isOther
        ? `${WRONG}other parameters are indexed for ${read.place}`
        : read
          ? `read by ${read.place}`
          : 'not read';
      return line(toEventSignature(item), toEventSelector(item), reading);
    }),
    // An adapter may be for several contracts. But an event of the same name is meant to be this one.
    ...[...(adapter?.events ?? [])]
      .filter(([topic]) => !topics.has(topic))
      .map(([topic, { item, place }]) => {
        const isOther = known.some(({ name }) => name === item.name);
        return line(
          toEventSignature(item),
          topic,
          `${isOther ? WRONG : ''}read by ${place}, and not in the ABI`,
        );
      }),
    ...[...counts.keys()]
      .filter((topic) => !topics.has(topic) && !adapter?.events.has(topic))
      .map((topic) => line(topic, topic, 'not in the ABI, not read')),
  ];
}

function functionLines(abi: Abi, adapter: Adapter | undefined): string[] {
  const { token, views, calls } = adapter ?? {};
  const view = typeof token === 'string' && token.endsWith(')') && { token };
  const named = { ...view, ...views, ...calls };
  const uses = Object.entries(named).map(([use, signature]) => {
    const item = readCall(signature, use);
    return {
      use,
      signature,
      selector: toFunctionSelector(item),
      kind: calls && use in calls ? 'called' : 'asked',
    };
  });
  const functions = abi.filter((item): item is AbiFunction => item.type === 'function');
  const selectors = new Set(functions.map((item) => toFunctionSelector(item)));
  return [
    ...functions.flatMap((item) => {
      const used = uses.filter(({ selector }) => selector === toFunctionSelector(item));
      const isView = item.stateMutability === 'view' || item.stateMutability === 'pure';
      const how = used.map(({ use, kind }) => `${kind} for ${use}`).join(', ');
      const isPayable = item.stateMutability === 'payable';
      const isCoin = typeof token === 'object';
      const wrong =
        isCoin && !isPayable && used.some(({ use }) => use === 'deposit')
          ? `, ${WRONG}it is not payable`
          : '';
      const coin = isPayable && !isCoin ? "may take the chain's own coin, which is no token" : '';
      const what = [how, coin].filter(Boolean).join(', ');
      return what || isView
        ? `${isView ? 'view' : 'call'} ${toFunctionSignature(item)}: ${what || 'not asked'}${wrong}`
        : [];
    }),
    ...uses
      .filter(({ selector }) => !selectors.has(selector))
      .map(({ use, signature }) => `${WRONG}${use}: ${signature} is not in the ABI`),
  ];
}

const SIGNS: Partial<Record<ChainEvent['kind'], bigint>> = { Deposited: 1n, Withdrawn: -1n };

async function sumLines(
  events: ChainEvent[],
  { address }: Examined,
  adapter: Adapter,
  at: Block,
  ask: (calls: Question['call'][]) => Promise<unknown[]>,
): Promise<string[]> {
  const failed = events.filter(
    ({ poolId, drawId, kind }) => poolId === null && drawId === null && kind !== NOTHING,
  );
  const questions = [...poolQuestions(events, address, adapter, at), ...shareQuestions(events, address, at)];
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
  const moved = events.filter(({ kind }) => SIGNS[kind] !== undefined || kind === 'SharesMoved').length;
  return [
    `sums of ${moved} logs: ${questions.length} views asked, ${differing.length} differ`,
    ...differing.slice(0, MOST_LISTED),
    ...[...silent].map((why) => `${WRONG}${why}`),
    ...(failed.length > 0
      ? [`${WRONG}${failed.length} logs without effect: the adapter failed at them`]
      : []),
    ...(moved > 0 && questions.length === 0 ? ['no view says whether the sums are right: name `views`'] : []),
  ];
}

/** What accounts have in each pool, and all of them together. */
function poolQuestions(events: ChainEvent[], contract: string, adapter: Adapter, at: Block): Question[] {
  const pools = new Map<string, { name: string | null; held: Map<string, bigint> }>();
  for (const { kind, poolId, poolName, account, amount } of events) {
    const sign = SIGNS[kind];
    if (sign === undefined || poolId === null || account === null) continue;
    const { held } = pools.get(poolId) ?? pools.set(poolId, { name: poolName, held: new Map() }).get(poolId)!;
    held.set(account, (held.get(account) ?? 0n) + sign * BigInt(amount!));
  }
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
function shareQuestions(events: ChainEvent[], contract: string, at: Block): Question[] {
  const held = new Map<string, bigint>();
  for (const { kind, poolName, account, shares } of events) {
    if (kind !== 'SharesMoved') continue;
    held.set(poolName!, (held.get(poolName!) ?? 0n) - BigInt(shares!));
    held.set(account!, (held.get(account!) ?? 0n) + BigInt(shares!));
  }
  held.delete(zeroAddress);
  const item = readCall('balanceOf(address account)', contract);
  return [...held].slice(0, MOST_ASKED).map(([account, wanted]) => {
    const data = encodeCall(item, { account: account as `0x${string}` });
    return { kind: 'chain.shares', id: account, wanted, call: ethCall(contract, data, `${at.number}`) };
  });
}
