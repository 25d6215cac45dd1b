import type { Kind } from '#ledger/adapters/happening';

/** A log as returned by eth_getLogs. All numbers are hex. */
export interface RawLog {
  address: string;
  topics: string[];
  data: string;
  blockNumber: string;
  blockHash: string;
  /** Only some nodes have it, and some of them send 0x0, null or a number. See `times`. */
  blockTimestamp?: unknown;
  transactionHash: string;
  logIndex: string;
  removed?: boolean;
}

/**
 * One event of our contracts, in the words of the ledger. Amounts and draw ids are decimal strings, other ids are 32 hex
 * digits, times seconds.
 */
export interface ChainEvent {
  blockNumber: number;
  logIndex: number;
  blockHash: string;
  time: number;
  txHash: string;
  contract: string;
  /** Its number among the contract's events, from 1; or, of a contract without numbers, its place on the chain. */
  seq: number;
  kind: Kind;
  /** Of the pool; where the contract has a name of its own for it, and no pool is known by it, an id that stands for that. */
  poolId: string | null;
  /** How a contract names the pool that does not know its id: its number, or its account. Otherwise null. */
  poolName: string | null;
  ref: string | null;
  drawId: string | null;
  account: string | null;
  amount: string | null;
  /** What the contract kept beside the amount. */
  fee: string | null;
  /** Of a withdrawal: what its account has in the pool after it, if the contract says so. */
  remaining: string | null;
  aprBps: number | null;
  /** When something ends: a sale of tickets, the time for joining a circle, a round. */
  drawTime: number | null;
  circleId: string | null;
  collateral: string | null;
  /** Seconds. */
  period: number | null;
  /** A member's place in a circle, the number of a round, or how many members there are. */
  place: number | null;
  /** Of a vault: of how many shares the amount is; '0' if the same log has another event, with the shares. */
  shares: string | null;
  /** What else the log says, which takes effect after all other events of its block. The writer gives it its place. */
  second?: ChainEvent;
}

/** The last day of the year 9999. Later times are stored as its beginning, as clients do not parse longer years. */
export const LATEST_TIME_S = Date.UTC(9999, 11, 31) / 1000;

/** The kind of a numbered event without effect, whose number the ledger keeps. No contract event can have this name. */
export const NOTHING = '(nothing)' as Kind;

/**
 * @returns undefined for an event without effect, or of an unknown contract; 'unread' if no method reads its topic
 * @throws UnreadableEvents for an event whose layout is not the one its adapter expects
 */
export type DecodeLog = (log: RawLog, time: number) => ChainEvent | 'unread' | undefined;

/** An id holds 40 bits of block number and 24 bits of log index. */
const BLOCKS = 2 ** 40;
const LOGS = 2 ** 24;
/** All texts of three hex digits: putting some together takes half the time of making them from numbers. */
const THREE = Array.from({ length: 4096 }, (_, n) => (n + 4096).toString(16).slice(1));
const six = (value: number): string => THREE[value >> 12] + THREE[value & 4095];
const twelve = (value: number): string => six(Math.floor(value / LOGS)) + six(value % LOGS);

/**
 * UUIDv7 of a transaction found on the chain: 48 bits of block time in ms, 40 of block number, 24 of log index, and 8
 * zeros. Block number and log index identify a log, so no sender can make two events share an id. Ids sort in chain
 * order, even if several blocks share a second. Reading the chain again gives the same ids.
 * @returns undefined when a number does not fit, which does not happen on a real chain
 */
export function transactionId({
  time,
  blockNumber,
  logIndex,
}: Pick<ChainEvent, 'time' | 'blockNumber' | 'logIndex'>): string | undefined {
  const fits = time >= 0 && blockNumber >= 0 && blockNumber < BLOCKS && logIndex >= 0 && logIndex < LOGS;
  if (!fits || time > LATEST_TIME_S) return undefined;
  // Of the number's ten digits three come before the variant.
  const high = THREE[Math.floor(blockNumber / 2 ** 28)];
  const low = ((blockNumber % 2 ** 28) + 2 ** 28).toString(16).slice(1);
  return `${twelve(time * 1000)}7${high}8${low}${six(logIndex)}00`;
}
