import { toFunctionSelector } from 'viem';
import { type ChainEvent, type RawLog, decodeLog } from './decode';
import { type Call, ChainTrouble, type Rpc, RpcError } from './rpc';

export interface Block {
  number: number;
  hash: string;
  parentHash: string;
  /** Seconds. */
  time: number;
}

interface RawBlock {
  number: string;
  hash: string;
  parentHash: string;
  timestamp: string;
}

/** Blocks and all events of our contracts in them, checked to belong together. */
export interface Batch {
  to: Block;
  /** Those of the range that are kept: every one near the head, of a range of final blocks the last; ascending. */
  blocks: Block[];
  events: ChainEvent[];
  /** Of each contract its own count of events as of the last block; null if it has none, undefined if unknown. */
  counts: (number | null | undefined)[];
}

/** The node does not know a block that another answer told of: it is behind, or its chain is changing. */
export class NotThere extends ChainTrouble {}
/** The chain does not continue from where we are: a competing block was seen. */
export class Competing extends ChainTrouble {}

/** Blocks kept, so that a reorganisation this deep can be followed. */
export const WINDOW = 64;
const MAX_RANGE = 10_000;
/** A database transaction of about this many events is efficient and short. */
const TARGET_EVENTS = 8_000;
const HEADERS_PER_BATCH = 100;
const CALM = 10;

export const hex = (value: number): string => `0x${value.toString(16)}`;

/** Reads blocks and events from one node or a balancer of nodes, trusting nothing that can be checked. */
export class Source {
  /** Blocks asked for at once. */
  range = 64;
  /** Batches to go before a range that was too large is tried again. */
  private calm = 0;

  constructor(
    readonly rpc: Rpc,
    readonly contracts: string[],
  ) {}

  async block(number: number | 'latest'): Promise<Block | undefined> {
    const tag = typeof number === 'number' ? hex(number) : number;
    const block = await this.rpc.call<RawBlock | null>('eth_getBlockByNumber', tag, false);
    return block ? toBlock(block) : undefined;
  }

  /** Headers of the given blocks in order; undefined where the node has none. */
  async blocks(numbers: number[]): Promise<(Block | undefined)[]> {
    const found: (Block | undefined)[] = [];
    for (let i = 0; i < numbers.length; i += HEADERS_PER_BATCH) {
      const calls = numbers.slice(i, i + HEADERS_PER_BATCH).map(headerCall);
      const raw = await this.rpc.batch<(RawBlock | null)[]>(calls);
      found.push(...raw.map((block) => (block ? toBlock(block) : undefined)));
    }
    return found;
  }

  private countCalls(block: number): Call[] {
    return this.contracts.map((to) => ['eth_call', [{ to, data: SEQ }, hex(block)]]);
  }

  /**
   * Reads the blocks after `after`, at most up to `head`. Near the head every header is read and linked by parent
   * hash; further back, where blocks are final, the first and the last one.
   * @throws Competing, NotThere
   */
  async read(after: Block, head: number): Promise<Batch> {
    for (;;) {
      const from = after.number + 1;
      const final = head - WINDOW;
      // A range does not straddle the border, so that all of the window's headers are read.
      const to = Math.min(from <= final ? final : head, from + this.range - 1);
      try {
        const batch = await this.readRange(after, from, to, to > final);
        this.adapt(batch.events.length, to - from + 1);
        return batch;
      } catch (error) {
        if (!(error instanceof RpcError) || to === from) throw error;
        // Providers cap ranges and results, each with an error of its own.
        this.shrink(to - from + 1);
      }
    }
  }

  shrink(from = this.range): void {
    this.range = Math.max(1, Math.floor(from / 2));
    this.calm = CALM;
  }

  private adapt(events: number, blocks: number): void {
    if (events > TARGET_EVENTS * 1.5) this.range = Math.max(1, Math.floor((blocks * TARGET_EVENTS) / events));
    else if (events < TARGET_EVENTS / 2 && blocks >= this.range && this.calm-- <= 0)
      this.range = Math.min(MAX_RANGE, this.range * 2);
  }

  private async readRange(after: Block, from: number, to: number, linked: boolean): Promise<Batch> {
    const filter = { fromBlock: hex(from), toBlock: hex(to), address: this.contracts };
    const numbers = linked ? range(from, to) : from === to ? [from] : [from, to];
    // One HTTP request: whichever node answers, a header that it lacks tells that its logs are cut short too.
    const results = await this.rpc.settled([
      ['eth_getLogs', [filter]],
      ...numbers.map(headerCall),
      ...this.countCalls(to),
    ]);
    const [logs, ...raw] = results.splice(0, 1 + numbers.length) as [RawLog[], ...(RawBlock | null)[]];
    for (const result of [logs, ...raw]) if (result instanceof RpcError) throw result;
    const blocks = raw.map((block, i) => {
      if (!block) throw new NotThere(`block ${numbers[i]}`);
      return toBlock(block);
    });
    if (blocks[0].parentHash !== after.hash) throw new Competing(`block ${from}`);
    blocks.forEach((block, i) => {
      if (linked && i > 0 && block.parentHash !== blocks[i - 1].hash)
        throw new NotThere('headers do not link');
    });
    const own = this.select(logs, from, to);
    const headers = new Map(blocks.map((block) => [block.number, block]));
    await this.addTimes(own, headers);
    const events: ChainEvent[] = [];
    for (const log of own) {
      const header = headers.get(Number(log.blockNumber));
      if (header && header.hash !== log.blockHash)
        throw new NotThere(`logs of another block ${header.number}`);
      const event = decodeLog(log, header?.time ?? Number(log.blockTimestamp));
      if (event) events.push(event);
    }
    const counts = results.map(toCount);
    // Every node has the state of the last blocks: this one is behind, and its logs may lack the last ones.
    if (linked && counts.includes(undefined)) throw new NotThere(`state of block ${to}`);
    return { to: blocks.at(-1)!, blocks: linked ? blocks : blocks.slice(-1), events, counts };
  }

  /** Our logs in chain order, each once: nodes have been seen to repeat, shuffle and add foreign ones. */
  private select(logs: RawLog[], from: number, to: number): RawLog[] {
    const own = new Set(this.contracts);
    const unique = new Map<number, RawLog>();
    for (const log of logs) {
      const number = Number(log.blockNumber);
      if (log.removed || number < from || number > to || !own.has(log.address.toLowerCase())) continue;
      unique.set(number * 1e6 + Number(log.logIndex), log);
    }
    return [...unique].sort(([a], [b]) => a - b).map(([, log]) => log);
  }

  /** Reads the headers of blocks whose logs carry no time. */
  private async addTimes(logs: RawLog[], headers: Map<number, Block>): Promise<void> {
    const without = logs
      .filter((log) => log.blockTimestamp === undefined)
      .map((log) => Number(log.blockNumber));
    const missing = [...new Set(without)].filter((number) => !headers.has(number));
    const found = await this.blocks(missing);
    found.forEach((block, i) => {
      if (!block) throw new NotThere(`block ${missing[i]}`);
      headers.set(block.number, block);
    });
  }
}

const SEQ = toFunctionSelector('function seq()');

const headerCall = (number: number): Call => ['eth_getBlockByNumber', [hex(number), false]];

function toCount(result: unknown): number | null | undefined {
  if (result instanceof RpcError) return /revert/i.test(result.message) ? null : undefined;
  return result === '0x' ? null : Number(result);
}

const toBlock = ({ number, hash, parentHash, timestamp }: RawBlock): Block => ({
  number: Number(number),
  hash,
  parentHash,
  time: Number(timestamp),
});

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
