import { toFunctionSelector } from 'viem';
import type { RawLog } from './decode';
import { type Call, RetryableChainError, RpcError } from './rpc';

export interface Block {
  number: number;
  hash: string;
  parentHash: string;
  /** Seconds. */
  time: number;
}

export interface RawBlock {
  number: string;
  hash: string;
  parentHash: string;
  timestamp: string;
}

/** The node answered with something that is no block or no log. */
export class MalformedAnswer extends RetryableChainError {}

const HASH = /^0x[0-9a-f]{64}$/i;
const HEX = /^0x([0-9a-f]{2})*$/i;
const QUANTITY = /^0x[0-9a-f]{1,13}$/i;
/** More logs than any block has; times a block number it is still an exact number. */
export const MAX_LOG_INDEX = 2 ** 22;
const SEQ = toFunctionSelector('function seq()');

export const hex = (value: number): string => `0x${value.toString(16)}`;

export const headerCall = (number: number): Call => ['eth_getBlockByNumber', [hex(number), false]];

/** Asks a contract how many events it has emitted as of a block. */
export const countCall = (to: string, block: number | string): Call => [
  'eth_call',
  [{ to, data: SEQ }, typeof block === 'number' ? hex(block) : { blockHash: block }],
];

/** @returns null if the contract does not count, undefined if the node does not know the state of that block */
export function toCount(result: unknown): number | null | undefined {
  if (result instanceof RpcError) return /revert/i.test(result.message) ? null : undefined;
  return result === '0x' ? null : Number(result);
}

/** @throws MalformedAnswer */
export function toBlock(raw: RawBlock): Block {
  const { number, hash, parentHash, timestamp } = raw;
  if (!QUANTITY.test(number) || !HASH.test(hash) || !HASH.test(parentHash) || !QUANTITY.test(timestamp))
    throw new MalformedAnswer('the node sent a block that is none');
  return { number: Number(number), hash, parentHash, time: Number(timestamp) };
}

/** @throws MalformedAnswer: what a log holds goes into the database, so nothing else may pass for one */
export function checkLog(log: RawLog): void {
  const { address, topics, data, blockNumber, blockHash, blockTimestamp, transactionHash, logIndex } = log;
  const well =
    typeof address === 'string' &&
    Array.isArray(topics) &&
    topics.every((topic) => HASH.test(topic)) &&
    HEX.test(data) &&
    QUANTITY.test(blockNumber) &&
    HASH.test(blockHash) &&
    HASH.test(transactionHash) &&
    QUANTITY.test(logIndex) &&
    Number(logIndex) < MAX_LOG_INDEX &&
    (blockTimestamp === undefined || QUANTITY.test(blockTimestamp));
  if (!well) throw new MalformedAnswer('the node sent a log that is none');
}
