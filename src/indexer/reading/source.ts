import { type Part, RangeSize, partsOf } from './range-size';
import { askReceipts } from './ask-receipts';
import {
  type BlockBatch,
  NodeBehind,
  type Plan,
  type UnreadLog,
  UnreadableEvents,
  WINDOW_BLOCKS,
  areInOrder,
  linkBlocks,
  ownLogs,
  timesOf,
} from './block-batch';
import type { ChainEvent, DecodeLog, RawLog } from './decode';
import { keptFrom } from './finality';
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
import { type Call, type Rpc, RpcError, RpcUnavailable } from './rpc';

/** Calls for logs in a range that no single request has room for, and for how many seconds of the endpoint's budget. */
const SPLIT_CALLS = { most: 25, seconds: 4 };

interface Receipt {
  transactionHash: string;
  logs: RawLog[];
}

/** Reads blocks and events from one endpoint, which may be a balancer of nodes. Checks all that can be checked. */
export class Source {
  readonly range = new RangeSize();
  private readonly emitters: string[];
  /** The end of a range for which no answer came in time. */
  private late?: number;

  constructor(
    readonly rpc: Rpc,
    readonly contracts: string[],
    private readonly decode: DecodeLog,
  ) {
    this.emitters = emittersOf(contracts);
  }

  /** Ahead of all others who ask this endpoint. */
  private ask(calls: Call[], answerMs?: number): Promise<unknown[]> {
    return this.rpc.settled(calls, answerMs && 2 * answerMs, 'reading', answerMs);
  }

  async latest(): Promise<Block | undefined> {
    const [block] = await this.rpc.batch<[RawBlock | null]>([['eth_getBlockByNumber', ['latest', false]]]);
    return block ? toBlock(block) : undefined;
  }

  /** Headers of the given blocks, in order; undefined for those that the node lacks. */
  async blocks(numbers: number[]): Promise<(Block | undefined)[]> {
    const raw = await this.rpc.batch<(RawBlock | null)[]>(numbers.map(headerCall));
    return raw.map((block, i) => {
      const found = block ? toBlock(block) : undefined;
      if (found && found.number !== numbers[i]) throw new MalformedAnswer('the node sent another block');
      return found;
    });
  }

  /** Blocks of the largest range that is read at once. */
  get mostBlocks(): number {
    return Math.min(this.range.blocks, this.room);
  }

  /**
   * Blocks that fit in one read. With small calls it ends where one request is full, as one node answers that, even
   * behind a balancer.
   */
  private get room(): number {
    const calls = this.rpc.mostCalls - this.contracts.length - 2;
    const split = Math.min(SPLIT_CALLS.most, SPLIT_CALLS.seconds * this.rpc.perSecond);
    return this.range.span * (calls > 0 ? calls : split);
  }

  /**
   * The next range after a block. All headers are read of blocks that are not final; of final ranges only the first and
   * the last. No range has blocks of two kinds, so that all headers of the window are read.
   * @param finalized the last final block; without it, all but the last 64 are final
   * @param most blocks
   */
  plan(after: Pick<Block, 'number'>, head: number, finalized?: number, most = Infinity): Plan {
    const from = after.number + 1;
    const final = keptFrom(head, finalized);
    const deep = head - WINDOW_BLOCKS;
    const [linked, near] = [from > final, from > deep];
    const blocks = Math.min(this.mostBlocks, most, linked ? WINDOW_BLOCKS : Infinity);
    return { to: Math.min(near ? head : linked ? deep : final, after.number + blocks), linked, near };
  }

  /** Reads the next range, at most up to `head`. @throws as readTo */
  read(after: Block, head: number): Promise<BlockBatch> {
    return this.readTo(after, this.plan(after, head));
  }

  /**
   * Reads up to exactly this block; in halves if the endpoint refuses the whole range: providers cap ranges and results,
   * each with an error of its own. @throws ForkDetected, NodeBehind
   */
  async readTo(after: Block, plan: Plan): Promise<BlockBatch> {
    const { span } = this.range;
    const blocks = plan.to - after.number;
    // Calls may have become smaller since the range was planned.
    if (blocks > Math.max(1, this.room)) return this.readHalves(after, plan);
    try {
      return await this.readPart(after, plan);
    } catch (error) {
      if (!(error instanceof RpcError) || blocks === 1) throw error;
      if (this.range.span < span) return this.readTo(after, plan);
      this.range.shrink(blocks);
      return this.readHalves(after, plan);
    }
  }

  private async readHalves(after: Block, plan: Plan): Promise<BlockBatch> {
    const middle = after.number + Math.floor((plan.to - after.number) / 2);
    const first = await this.readTo(after, { ...plan, to: middle });
    const second = await this.readTo(first.to, plan);
    const both = <T>(of: (batch: BlockBatch) => T[] | undefined): T[] =>
      [first, second].flatMap((each) => of(each) ?? []);
    return {
      ...second,
      events: both(({ events }) => events),
      blocks: plan.linked ? both((each) => each.blocks) : second.blocks,
      headers: both(({ headers }) => headers),
      unread: both(({ unread }) => unread),
    };
  }

  /** Anyone can make a single block too large or too slow for one answer. Such a block is read from its receipts. */
  private async readPart(after: Block, plan: Plan): Promise<BlockBatch> {
    const { to } = plan;
    const blocks = to - after.number;
    const isCrowded = blocks === 1 && this.contracts.length > 0;
    if (isCrowded && this.late === to) return this.readCrowded(after, plan);
    try {
      return await this.readRange(after, plan);
    } catch (error) {
      if (error instanceof RpcUnavailable && !error.isThrottled) {
        // Another endpoint may be faster.
        this.late = to;
        this.range.shrink(blocks);
      }
      if (!isCrowded || !(error instanceof RpcError)) throw error;
      return this.readCrowded(after, plan);
    }
  }

  /** @throws UnreadableEvents for the contract that makes the block too large, if there are no receipts either */
  private async readCrowded(after: Block, plan: Plan): Promise<BlockBatch> {
    const readAlone = (...some: string[]): Promise<unknown> =>
      new Source(this.rpc, some, this.decode).readRange(after, plan);
    // The node may give no logs at all, not even of an address that has none.
    await readAlone();
    const read = await this.readReceipts(after, plan);
    if (read) return read;
    let [culprit, message] = [this.contracts[0], 'too many logs'];
    for (const contract of this.contracts)
      await readAlone(contract).catch((error: Error) => {
        if (!(error instanceof RpcError || error instanceof RpcUnavailable)) throw error;
        [culprit, message] = [contract, error.message];
      });
    throw new UnreadableEvents(
      culprit,
      `events of ${culprit} in block ${plan.to} cannot be read: ${message}`,
    );
  }

  /** Reads the next block from its receipts; undefined if they are not available. */
  private async readReceipts(after: Block, plan: Plan): Promise<BlockBatch | undefined> {
    const { to } = plan;
    const calls = [headerCall(to), ...this.contracts.map((contract) => countCall(contract, to))];
    const [raw, ...counts] = await this.ask(calls, this.rpc.historyMs);
    if (raw instanceof RpcError) throw raw;
    const header = raw as RawBlock;
    const blocks = linkBlocks(after, [to], [header], true);
    const hashes = header.transactions;
    for await (const receipts of askReceipts(this.rpc, header, this.rpc.historyMs)) {
      const logs = new Map(
        (receipts as Receipt[]).map((each) => [each.transactionHash.toLowerCase(), each.logs]),
      );
      // The block had too many logs, so it must have transactions: a node that shows none hides them.
      if (
        !Array.isArray(hashes) ||
        hashes.length === 0 ||
        !hashes.every((hash) => logs.has(String(hash).toLowerCase()))
      )
        continue;
      const batch = await this.assemble(blocks, [...logs.values()].flat(), counts.map(toCount), plan);
      return plan.near ? { ...batch, headers: [header] } : batch;
    }
    return undefined;
  }

  private async readRange(after: Block, plan: Plan): Promise<BlockBatch> {
    const { to, linked, near } = plan;
    const from = after.number + 1;
    // The last header is asked for together with the logs: a node that lacks it has not all logs of the range.
    const numbers = linked ? range(from, to).reverse() : from === to ? [to] : [to, from];
    const parts = partsOf(from, to, this.range.span);
    const size = parts.length + numbers.length + this.contracts.length;
    if (near && size > this.rpc.mostCalls) return this.readPinned(after, plan);
    const calls = [
      ...parts.map((part) => this.logCall(part)),
      ...numbers.map(headerCall),
      ...this.contracts.map((contract) => countCall(contract, to)),
    ];
    const results = await this.ask(calls, near ? undefined : this.rpc.historyMs);
    // The request had to be split, so different nodes may have answered.
    if (near && size > this.rpc.mostCalls) return this.readPinned(after, plan);
    const logs = this.logsOf(parts, results.splice(0, parts.length));
    const raw = results.splice(0, numbers.length) as (RawBlock | null)[];
    for (const result of raw) if (result instanceof RpcError) throw result;
    const blocks = linkBlocks(after, numbers.reverse(), raw.reverse(), linked);
    const batch = await this.assemble(blocks, logs, results.map(toCount), plan);
    return near ? { ...batch, headers: raw as RawBlock[] } : batch;
  }

  private logCall({ first, last }: Part): Call {
    return ['eth_getLogs', [{ fromBlock: hex(first), toBlock: hex(last), address: this.emitters }]];
  }

  /** @throws RpcError when a part was refused */
  private logsOf(parts: Part[], results: unknown[]): RawLog[] {
    const refused = results.map((result) => (result instanceof RpcError ? result : undefined));
    refused.forEach((error, i) => {
      if (error) this.range.refuse(parts[i].last - parts[i].first + 1);
    });
    const [error] = refused.filter((each) => each !== undefined);
    if (error) throw error;
    if (!results.every(Array.isArray)) throw new MalformedAnswer('the node sent no list of logs');
    return (results as RawLog[][]).flat();
  }

  /**
   * Reads blocks near the head in several requests, which different nodes may answer: first the headers, then the logs
   * by block hash, as a node that is behind would leave them out of a range. A node that accepts no hashes is asked by
   * number. Counts are of these blocks if the last header is still the same afterwards; each log has its block's hash.
   * @throws RpcError when logs are refused, NodeBehind
   */
  private async readPinned(after: Block, plan: Plan): Promise<BlockBatch> {
    const numbers = range(after.number + 1, plan.to);
    const raw = await this.rpc.batch<(RawBlock | null)[]>(numbers.map(headerCall));
    const blocks = linkBlocks(after, numbers, raw, true);
    const { number, hash } = blocks.at(-1)!;
    const byHash = blocks.map((each): Call => {
      return ['eth_getLogs', [{ blockHash: each.hash, address: this.emitters }]];
    });
    const found = await this.ask([
      ...byHash,
      ...this.contracts.map((contract) => countCall(contract, number)),
    ]);
    const counts = found.splice(byHash.length).map(toCount);
    const isRefused = found.some((each) => each instanceof RpcError);
    const logs = isRefused ? await this.ask([this.logCall({ first: numbers[0], last: number })]) : found;
    const error = logs.find((each) => each instanceof RpcError);
    if (error)
      throw counts.includes(undefined) ? new NodeBehind(`the node lacks blocks: ${error.message}`) : error;
    if ((await this.blocks([number]))[0]?.hash !== hash)
      throw new NodeBehind(`block ${number} changed while it was read`);
    const batch = await this.assemble(blocks, (logs as RawLog[][]).flat(), counts, plan);
    return { ...batch, headers: raw as RawBlock[] };
  }

  private async assemble(
    blocks: Block[],
    logs: RawLog[],
    counts: BlockBatch['counts'],
    { linked, near }: Plan,
  ): Promise<BlockBatch> {
    const own = ownLogs(this.contracts, logs, blocks[0].number, blocks.at(-1)!.number);
    const headers = new Map(blocks.map((block) => [block.number, block]));
    const times = timesOf(own, blocks) ?? (await this.readTimes(own, headers));
    const events: ChainEvent[] = [];
    const unread: UnreadLog[] = [];
    for (const [i, log] of own.entries()) {
      const header = headers.get(Number(log.blockNumber));
      if (header && header.hash !== log.blockHash)
        throw new NodeBehind(`the node sent logs of another block ${header.number}`);
      const event = this.decode(log, times[i]);
      if (event === 'unread')
        unread.push({ contract: log.address.toLowerCase(), topic: log.topics[0] ?? 'none' });
      else if (event) events.push(event);
    }
    // Every node has the state of the last blocks. One that has not is behind, and may lack the last logs too.
    if (near && counts.includes(undefined))
      throw new NodeBehind('the node lacks the state of the last block');
    const { contracts } = this;
    this.range.adapt(events.length, blocks.at(-1)!.number - blocks[0].number + 1);
    const kept = linked ? blocks : blocks.slice(-1);
    return { to: blocks.at(-1)!, blocks: kept, events, contracts, counts, unread };
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
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
