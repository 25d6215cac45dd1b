import { toFunctionSelector } from 'viem';
import { isBeyondSeconds } from '#ledger/chain/chain-rpc';
import type { RawLog } from './decode';
import { type Call, RetryableChainError, RpcError } from './rpc';

export interface Block {
  number: number;
  hash: string;
  parentHash: string;
  /** Seconds. */
  time: number;
}

/** A header as the node gives it, with fields that only proofs need. */
export interface RawBlock {
  [field: string]: unknown;
  number: string;
  hash: string;
  parentHash: string;
  timestamp: string;
}

/** The node answered with something that is not a valid block or log. */
export class MalformedAnswer extends RetryableChainError {}

const HASH = /^0x[0-9a-f]{64}$/i;
const HEX = /^0x([0-9a-f]{2})*$/i;
const QUANTITY = /^0x[0-9a-f]{1,13}$/i;
const areTexts = (pattern: RegExp, ...values: unknown[]): boolean =>
  values.every((value) => typeof value === 'string' && pattern.test(value));
/** NaN if it is none. */
export const quantityOf = (value: unknown): number => (areTexts(QUANTITY, value) ? Number(value) : NaN);
/** The answer to `eth_chainId`. A node that is still starting may send 0 or null. @throws MalformedAnswer */
export function chainIdOf(answer: unknown): number {
  const id = quantityOf(answer);
  if (!(id > 0)) throw new MalformedAnswer('the node does not know its chain yet');
  return id;
}

/** No block has so many logs. */
export const MAX_LOGS = 2 ** 21;
/**
 * An event has a place in its block: the index of its log or, of the second event of a log, MAX_LOGS more. The product
 * with a block number is still an exact number.
 */
export const MAX_PLACES = 2 * MAX_LOGS;
const SEQ = toFunctionSelector('function seq()');

export const hex = (value: number): string => `0x${value.toString(16)}`;

export const headerCall = (number: number): Call => ['eth_getBlockByNumber', [hex(number), false]];

/** Asks a contract for the number of its events as of a block. */
export const countCall = (to: string, block: number): Call => ['eth_call', [{ to, data: SEQ }, hex(block)]];

/** @returns null if the contract has no `seq()`, undefined if the node lacks the state of that block */
export function toCount(result: unknown): number | null | undefined {
  if (result instanceof RpcError) return result.isRevert ? null : undefined;
  if (result === '0x') return null;
  const count = typeof result === 'string' && /^0x[0-9a-f]+$/i.test(result) ? Number(result) : undefined;
  return Number.isSafeInteger(count) ? count : undefined;
}

/** @throws MalformedAnswer */
export function toBlock(raw: RawBlock): Block {
  const { number, hash, parentHash, timestamp } = raw;
  if (!areTexts(QUANTITY, number, timestamp) || !areTexts(HASH, hash, parentHash))
    throw new MalformedAnswer('the node sent an invalid block');
  if (isBeyondSeconds(timestamp))
    throw new MalformedAnswer(
      `the node sends the times of blocks in a unit other than seconds: ${Number(timestamp)}`,
    );
  return {
    number: Number(number),
    hash: hash.toLowerCase(),
    parentHash: parentHash.toLowerCase(),
    time: Number(timestamp),
  };
}

/** The fields of a log are stored in the database, so they have to be valid. @throws MalformedAnswer */
export function checkLog(log: Partial<RawLog> | null): asserts log is RawLog {
  const { address, topics, data, blockNumber, blockHash, transactionHash, logIndex } = log ?? {};
  const well =
    typeof address === 'string' &&
    Array.isArray(topics) &&
    areTexts(HASH, ...topics, blockHash, transactionHash) &&
    areTexts(HEX, data) &&
    areTexts(QUANTITY, blockNumber, logIndex) &&
    Number(logIndex) < MAX_LOGS;
  if (!well) throw new MalformedAnswer('the node sent an invalid log');
}

const NO_CONTRACT = `0x${'0'.repeat(40)}`;

/** Whose logs to ask for: to a node, no address at all would mean any. */
export const emittersOf = (contracts: string[]): string[] =>
  contracts.length > 0 ? contracts : [NO_CONTRACT];
