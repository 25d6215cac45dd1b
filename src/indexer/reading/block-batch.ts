import type { ChainEvent, RawLog } from './decode';
import {
  type Block,
  MAX_PLACES,
  MalformedAnswer,
  type RawBlock,
  checkLog,
  quantityOf,
  toBlock,
} from './raw-chain';
import { RetryableChainError } from './rpc';

/** Blocks, and all events of some of our contracts in them. They are checked to belong together. */
export interface BlockBatch {
  to: Block;
  /** Headers to store, ascending: all if the range is linked, else only the last. */
  blocks: Block[];
  /** The same as the node sent them, with all fields, near the head. */
  headers?: RawBlock[];
  events: ChainEvent[];
  /** The contracts whose events these are. */
  contracts: string[];
  /** `seq()` of each of them as of the last block; null if it has no such function, undefined if unknown. */
  counts: (number | null | undefined)[];
  /** Logs of these contracts that no method of their adapters reads. */
  unread?: UnreadLog[];
}

export interface UnreadLog {
  contract: string;
  /** The log's first topic; 'none' if it has none. */
  topic: string;
}

/** A range to read. */
export interface Plan {
  /** Its last block. */
  to: number;
  /** Whether all headers are read and checked to link, as the blocks are not final. */
  linked: boolean;
  /** Whether it is so close to the head that a node may still lack its blocks. */
  near: boolean;
}

/** The node lacks a block that another answer mentioned: it is behind, or its chain is changing. */
export class NodeBehind extends RetryableChainError {}
/** The chain does not continue from our cursor: there is a competing block. */
export class ForkDetected extends RetryableChainError {}

/** What the node gave as a contract's events is proven not to be all of them, or not to be them. */
export class WrongEvents extends RetryableChainError {
  constructor(
    readonly contract: string,
    message: string,
  ) {
    super(message);
  }
}
/** Events of a contract cannot be read, whereas those of others may be. */
export class UnreadableEvents extends WrongEvents {}

/** Number of blocks that are near the head. Where no node says what is final, so many are stored and may change. */
export const WINDOW_BLOCKS = 64;

/**
 * The blocks behind `after`, one for each of the numbers, ascending. With `linked` each must be the parent of the next.
 * @throws NodeBehind, ForkDetected, MalformedAnswer
 */
export function linkBlocks(
  after: Block,
  numbers: number[],
  raw: (RawBlock | null)[],
  linked: boolean,
): Block[] {
  const blocks = raw.map((block, i) => {
    if (!block) throw new NodeBehind(`the node lacks block ${numbers[i]}`);
    return toBlock(block);
  });
  if (blocks.some(({ number }, i) => number !== numbers[i]))
    throw new MalformedAnswer('the node sent another block');
  if (blocks[0].parentHash !== after.hash) throw new ForkDetected(`a competing block ${numbers[0]} was seen`);
  if (linked && blocks.some(({ parentHash }, i) => i > 0 && parentHash !== blocks[i - 1].hash))
    throw new NodeBehind('the headers do not link');
  // The time of `after` came from other endpoints: if one of them lied, this endpoint must not seem wrong.
  if (!areInOrder(blocks.map(({ time }) => time))) throw new MalformedAnswer('times of blocks fall');
  return blocks;
}

/** In the order of the chain. */
export const inOrder = (events: ChainEvent[]): ChainEvent[] =>
  [...events].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);

/** Whether none is smaller than the one before. */
export const areInOrder = (times: number[]): boolean =>
  times.every((time, i) => i === 0 || time >= times[i - 1]);

/**
 * The times of logs in chain order: those of the headers that were read, else what the node says in the logs. That may
 * be nothing, 0x0 or a number, so it is believed only where it is possible: times lie between those of the first and the
 * last block, never fall, and are the same within a block.
 * @param blocks the first and the last block of the range, and perhaps others, ascending
 * @returns undefined if the headers have to be read
 */
export function timesOf(logs: RawLog[], blocks: Block[]): number[] | undefined {
  const headers = new Map(blocks.map(({ number, time }) => [number, time]));
  const times = logs.map((log) => headers.get(Number(log.blockNumber)) ?? quantityOf(log.blockTimestamp));
  const isOneTime = logs.every(
    ({ blockNumber }, i) => blockNumber !== logs[i - 1]?.blockNumber || times[i] === times[i - 1],
  );
  return isOneTime && areInOrder([blocks[0].time, ...times, blocks.at(-1)!.time]) ? times : undefined;
}

/**
 * The logs of these contracts in a range of blocks, in chain order and without duplicates. Some nodes repeat, shuffle
 * or add logs, or send pending ones, which have no block. Some count the logs of each transaction from 0: if two
 * different logs have the same index, their order is unknown and the answer is unusable. @throws MalformedAnswer
 */
export function ownLogs(contracts: string[], logs: RawLog[], from: number, to: number): RawLog[] {
  if (!Array.isArray(logs)) throw new MalformedAnswer('the node sent no list of logs');
  const own = new Set(contracts);
  const unique = new Map<number, RawLog>();
  for (const each of logs) {
    if (each?.blockNumber === null || each?.blockHash === null) continue;
    checkLog(each);
    const number = Number(each.blockNumber);
    if (each.removed || number < from || number > to || !own.has(each.address.toLowerCase())) continue;
    const log = lowerCase(each);
    const place = number * MAX_PLACES + Number(log.logIndex);
    const same = unique.get(place);
    if (same && contentOf(same) !== contentOf(log))
      throw new MalformedAnswer(`two logs of block ${number} have the index ${Number(log.logIndex)}`);
    unique.set(place, log);
  }
  return [...unique].sort(([a], [b]) => a - b).map(([, log]) => log);
}

/** Some nodes write hashes and topics in capitals. */
const lowerCase = (log: RawLog): RawLog => ({
  ...log,
  topics: log.topics.map((topic) => topic.toLowerCase()),
  blockHash: log.blockHash.toLowerCase(),
  transactionHash: log.transactionHash.toLowerCase(),
});

const contentOf = ({ address, transactionHash, topics, data }: RawLog): string =>
  [address, transactionHash, ...topics, data].join().toLowerCase();
