import {
  type BlockBatch,
  NodeBehind,
  type Plan,
  WINDOW_BLOCKS,
  areInOrder,
  linkBlocks,
  ownLogs,
  timesOf,
} from './block-batch';
import { type ChainEvent, type RawLog, decodeLog } from './decode';
import { PinnedReads } from './pinned-reads';
import { RangeSize } from './range-size';
import {
  type Block,
  MalformedAnswer,
  type RawBlock,
  countCall,
  emittersOf,
  headerCall,
  hex,
  toBlock,
  toCount,
} from './raw-chain';
import { type Call, type Rpc, RpcError } from './rpc';

/** Reads blocks and events from one endpoint, which may be a balancer of nodes. Checks all that can be checked. */
export class Source {
  readonly range = new RangeSize();
  private readonly emitters: string[];
  private readonly pinned: PinnedReads;

  constructor(
    readonly rpc: Rpc,
    readonly contracts: string[],
  ) {
    this.emitters = emittersOf(contracts);
    this.pinned = new PinnedReads((calls) => this.ask(calls), rpc.hashes, contracts);
  }

  /** Ahead of all others who ask this endpoint. */
  private ask(calls: Call[]): Promise<unknown[]> {
    return this.rpc.settled(calls, undefined, 'reading');
  }

  /** @throws RpcError too */
  private askAll<T extends unknown[]>(calls: Call[], patienceMs?: number): Promise<T> {
    return this.rpc.batch<T>(calls, patienceMs, 'reading');
  }

  async block(number: number | 'latest', patienceMs?: number): Promise<Block | undefined> {
    const tag = typeof number === 'number' ? hex(number) : number;
    const [block] = await this.askAll<[RawBlock | null]>(
      [['eth_getBlockByNumber', [tag, false]]],
      patienceMs,
    );
    return block ? toBlock(block) : undefined;
  }

  /** Headers of the given blocks, in order; undefined for those that the node lacks. */
  async blocks(numbers: number[]): Promise<(Block | undefined)[]> {
    const raw = await this.askAll<(RawBlock | null)[]>(numbers.map(headerCall));
    return raw.map((block, i) => {
      const found = block ? toBlock(block) : undefined;
      if (found && found.number !== numbers[i]) throw new MalformedAnswer('the node sent another block');
      return found;
    });
  }

  /**
   * The next range after a block. Near the head all headers are read; in final ranges only the first and the last. No
   * range has blocks of both kinds, so that all headers of the window are read.
   */
  plan(after: Block, head: number): Plan {
    const from = after.number + 1;
    const final = head - WINDOW_BLOCKS;
    const to = Math.min(from <= final ? final : head, from + this.range.blocks - 1);
    return { to, linked: to > final };
  }

  /** Reads the blocks after `after`, at most up to `head`. @throws ForkDetected, NodeBehind */
  async read(after: Block, head: number): Promise<BlockBatch> {
    for (;;) {
      const { to, linked } = this.plan(after, head);
      const blocks = to - after.number;
      try {
        const batch = await this.readRange(after, to, linked);
        this.range.adapt(batch.events.length, blocks);
        return batch;
      } catch (error) {
        if (!(error instanceof RpcError) || blocks === 1) throw error;
        // Providers cap ranges and results, each with an error of its own.
        this.range.shrink(blocks);
      }
    }
  }

  /** Reads up to exactly this block; in halves if the endpoint refuses the whole range. */
  async readTo(after: Block, { to, linked }: Plan): Promise<BlockBatch> {
    try {
      return await this.readRange(after, to, linked);
    } catch (error) {
      const blocks = to - after.number;
      if (!(error instanceof RpcError) || blocks === 1) throw error;
      const middle = after.number + Math.floor(blocks / 2);
      const first = await this.readTo(after, { to: middle, linked });
      const second = await this.readTo(first.to, { to, linked });
      return { ...second, events: [...first.events, ...second.events] };
    }
  }

  private async readRange(after: Block, to: number, linked: boolean): Promise<BlockBatch> {
    const from = after.number + 1;
    // The last header is asked for together with the logs: a node that lacks it has not all logs of the range.
    const numbers = linked ? range(from, to).reverse() : from === to ? [to] : [to, from];
    const size = 1 + numbers.length + this.contracts.length;
    if (linked && !this.rpc.fitsOneRequest(size)) return this.readPinned(after, to);
    const results = await this.ask([
      ['eth_getLogs', [{ fromBlock: hex(from), toBlock: hex(to), address: this.emitters }]],
      ...numbers.map(headerCall),
      ...this.contracts.map((contract) => countCall(contract, to)),
    ]);
    // The request had to be split, so different nodes may have answered.
    if (linked && !this.rpc.fitsOneRequest(size)) return this.readPinned(after, to);
    const [logs, ...raw] = results.splice(0, 1 + numbers.length) as [RawLog[], ...(RawBlock | null)[]];
    for (const result of [logs, ...raw]) if (result instanceof RpcError) throw result;
    const blocks = linkBlocks(after, numbers.reverse(), raw.reverse(), linked);
    const batch = await this.assemble(blocks, logs, results.map(toCount), linked);
    return linked ? { ...batch, headers: raw as RawBlock[] } : batch;
  }

  /**
   * The same near the head in several requests, which different nodes may answer: first the headers, then logs and
   * counts of just these blocks.
   */
  private async readPinned(after: Block, to: number): Promise<BlockBatch> {
    const numbers = range(after.number + 1, to);
    const raw = await this.askAll<(RawBlock | null)[]>(numbers.map(headerCall));
    const blocks = linkBlocks(after, numbers, raw, true);
    const { logs, counts } = await this.pinned.read(blocks);
    return { ...(await this.assemble(blocks, logs, counts, true)), headers: raw as RawBlock[] };
  }

  private async assemble(
    blocks: Block[],
    logs: RawLog[],
    counts: BlockBatch['counts'],
    linked: boolean,
  ): Promise<BlockBatch> {
    const own = ownLogs(this.contracts, logs, blocks[0].number, blocks.at(-1)!.number);
    const headers = new Map(blocks.map((block) => [block.number, block]));
    const times = timesOf(own, blocks) ?? (await this.readTimes(own, headers));
    const events: ChainEvent[] = [];
    for (const [i, log] of own.entries()) {
      const header = headers.get(Number(log.blockNumber));
      if (header && header.hash !== log.blockHash)
        throw new NodeBehind(`the node sent logs of another block ${header.number}`);
      const event = decodeLog(log, times[i]);
      if (event) events.push(event);
    }
    // Every node has the state of the last blocks. One that has not is behind, and may lack the last logs too.
    if (linked && counts.includes(undefined))
      throw new NodeBehind('the node lacks the state of the last block');
    const { contracts } = this;
    return { to: blocks.at(-1)!, blocks: linked ? blocks : blocks.slice(-1), events, contracts, counts };
  }

  /** The times of these logs by the headers of their blocks; adds those that are missing. @throws NodeBehind */
  private async readTimes(logs: RawLog[], headers: Map<number, Block>): Promise<number[]> {
    const missing = [...new Set(logs.map((log) => Number(log.blockNumber)))].filter(
      (number) => !headers.has(number),
    );
    const found = await this.blocks(missing);
    found.forEach((block, i) => {
      if (!block) throw new NodeBehind(`the node lacks block ${missing[i]}`);
      headers.set(block.number, block);
    });
    const times = logs.map((log) => headers.get(Number(log.blockNumber))!.time);
    const ascending = [...headers.values()].sort((a, b) => a.number - b.number);
    if (!areInOrder(ascending.map(({ time }) => time))) throw new MalformedAnswer('times of blocks fall');
    return times;
  }

  /** Searches blocks that were already read for the contract's event with this number. @throws RpcError */
  async findEvent(contract: string, seq: number, from: number, to: number): Promise<ChainEvent | undefined> {
    for (let start = from; start <= to;) {
      const end = Math.min(to, start + this.range.blocks - 1);
      try {
        const filter = { fromBlock: hex(start), toBlock: hex(end), address: [contract] };
        const [logs] = await this.askAll<[RawLog[]]>([['eth_getLogs', [filter]]]);
        const found = ownLogs(this.contracts, logs, start, end)
          .map((log) => decodeLog(log, 0))
          .find((event) => event?.seq === seq && event.contract === contract);
        if (found) return found;
        start = end + 1;
      } catch (error) {
        if (!(error instanceof RpcError) || start === end) throw error;
        this.range.shrink(end - start + 1);
      }
    }
    return undefined;
  }
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
