import { toFunctionSelector } from 'viem';
import { ChainEvent, RawLog, decodeLog } from './decode';
import { Call, Rpc, RpcError } from './rpc';

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
  from: number;
  to: Block;
  /** The last blocks of the range, up to the window; ascending. */
  blocks: Block[];
  events: ChainEvent[];
}

/** The node does not know a block that another answer told of: it is behind, or its chain is changing. */
export class NotThere extends Error {}
/** The chain does not continue from where we are: a competing block was seen. */
export class Competing extends Error {}
/** A contract's numbering shows that the node left out events after `seq` of `contract`. */
export class Gap extends Error {
  constructor(
    readonly contract: string,
    readonly seq: number,
    found: number,
  ) {
    super(`${contract}: event ${found} follows ${seq}`);
  }
}

/** Blocks kept, so that a reorganisation this deep can be followed. */
export const WINDOW = 64;
const MAX_RANGE = 10_000;
/** A database transaction of about this many events is efficient and short. */
const TARGET_EVENTS = 8_000;
const HEADERS_PER_BATCH = 100;

export const hex = (value: number): string => `0x${value.toString(16)}`;

/** Reads blocks and events from one node or a balancer of nodes, trusting nothing that can be checked. */
export class Source {
  range = 500;

  constructor(
    readonly rpc: Rpc,
    private readonly contracts: string[],
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

  /** Each contract's own count of its events as of a block; undefined where it cannot be asked. */
  async counts(block: number): Promise<(number | undefined)[]> {
    return Promise.all(
      this.contracts.map(async (to) => {
        try {
          const result = await this.rpc.call<string>('eth_call', { to, data: SEQ }, hex(block));
          return result === '0x' ? undefined : Number(result);
        } catch (error) {
          if (error instanceof RpcError) return undefined;
          throw error;
        }
      }),
    );
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
      const end = from <= final ? final : head;
      const to = Math.min(end, from + this.range - 1);
      try {
        const batch = await this.readRange(after, from, to, to > final);
        this.adapt(batch.events.length, to - from + 1);
        return batch;
      } catch (error) {
        if (!(error instanceof RpcError) || to === from) throw error;
        // Providers cap ranges and results, each with an error of its own.
        this.range = Math.max(1, Math.floor((to - from + 1) / 2));
      }
    }
  }

  private adapt(events: number, blocks: number): void {
    if (events > TARGET_EVENTS * 1.5) this.range = Math.max(1, Math.floor((blocks * TARGET_EVENTS) / events));
    else if (events < TARGET_EVENTS / 2 && blocks >= this.range)
      this.range = Math.min(MAX_RANGE, this.range * 2);
  }

  private async readRange(after: Block, from: number, to: number, linked: boolean): Promise<Batch> {
    const filter = { fromBlock: hex(from), toBlock: hex(to), address: this.contracts };
    const numbers = linked ? range(from, to) : from === to ? [from] : [from, to];
    const calls: Call[] = [['eth_getLogs', [filter]], ...numbers.map(headerCall)];
    // One HTTP request: whichever node answers, a header that it lacks tells that its logs are cut short too.
    const [logs, ...raw] = await this.rpc.batch<[RawLog[], ...(RawBlock | null)[]]>(calls);
    const blocks = raw.map((block, i) => {
      if (!block) throw new NotThere(`block ${numbers[i]}`);
      return toBlock(block);
    });
    const headers = new Map(blocks.map((block) => [block.number, block]));
    const own = this.select(logs, from, to);
    await this.addTimes(own, headers);
    if (blocks[0]!.parentHash !== after.hash) throw new Competing(`block ${from}`);
    if (linked)
      blocks.forEach((block, i) => {
        if (i > 0 && block.parentHash !== blocks[i - 1]!.hash) throw new NotThere('headers do not link');
      });
    const events: ChainEvent[] = [];
    for (const log of own) {
      const number = Number(log.blockNumber);
      const header = headers.get(number);
      if (header && header.hash !== log.blockHash) throw new NotThere(`logs of another block ${number}`);
      const event = decodeLog(log, header?.time ?? Number(log.blockTimestamp));
      if (event) events.push(event);
    }
    return { from, to: blocks.at(-1)!, blocks: linked ? blocks : blocks.slice(-1), events };
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
    return [...unique.entries()].sort(([a], [b]) => a - b).map(([, log]) => log);
  }

  /** Reads the headers of blocks whose logs carry no time. */
  private async addTimes(logs: RawLog[], headers: Map<number, Block>): Promise<void> {
    const missing = new Set<number>();
    for (const log of logs) {
      const number = Number(log.blockNumber);
      if (log.blockTimestamp === undefined && !headers.has(number)) missing.add(number);
    }
    if (missing.size === 0) return;
    const numbers = [...missing];
    const found = await this.blocks(numbers);
    found.forEach((block, i) => {
      if (!block) throw new NotThere(`block ${numbers[i]}`);
      headers.set(block.number, block);
    });
  }
}

const SEQ = toFunctionSelector('function seq()');

const headerCall = (number: number): Call => ['eth_getBlockByNumber', [hex(number), false]];

const toBlock = ({ number, hash, parentHash, timestamp }: RawBlock): Block => ({
  number: Number(number),
  hash,
  parentHash,
  time: Number(timestamp),
});

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
