import type { Hashes } from './hashes';
import { type BlockBatch, NodeBehind } from './block-batch';
import type { RawLog } from './decode';
import {
  type Block,
  type RawBlock,
  countCall,
  emittersOf,
  headerCall,
  hex,
  toBlock,
  toCount,
} from './raw-chain';
import { type Call, RpcError } from './rpc';

type Found = Pick<BlockBatch, 'counts'> & { logs: RawLog[] };

/**
 * Logs and counts of blocks whose headers are known, in several requests, which different nodes may answer. They are
 * asked for by block hash, so that all answers are about these blocks. An endpoint that does not take hashes is asked
 * by number, and for the last header again afterwards: if it is still the same, the numbers meant these blocks. Logs
 * have the hash of their block either way.
 */
export class PinnedReads {
  /** @param hashes of the endpoint */
  constructor(
    private readonly ask: (calls: Call[]) => Promise<unknown[]>,
    private readonly hashes: Hashes,
    private readonly contracts: string[],
  ) {}

  /** @param blocks linked, ascending @throws RpcError when logs are refused, NodeBehind */
  async read(blocks: Block[]): Promise<Found> {
    const { inLogs, inCalls } = this.hashes;
    const by = { logs: inLogs.now, counts: inCalls.now };
    let found = await this.readBy(by, blocks);
    const refused = {
      logs: by.logs && found.error !== undefined,
      counts: by.counts && found.counts.includes(undefined),
    };
    if (refused.logs || refused.counts) {
      by.logs &&= !refused.logs;
      by.counts &&= !refused.counts;
      found = await this.readBy(by, blocks);
    }
    const isBehind = found.counts.includes(undefined);
    if (found.error)
      throw isBehind ? new NodeBehind(`the node lacks blocks: ${found.error.message}`) : found.error;
    if (!by.logs || !by.counts) await this.confirm(blocks.at(-1)!);
    // One that lacks the blocks, or their state, refuses numbers too. Nothing is known of its hashes then.
    if (by.logs || refused.logs) inLogs.note(by.logs);
    if (!isBehind && (by.counts || refused.counts)) inCalls.note(by.counts);
    return found;
  }

  private async readBy(
    by: { logs: boolean; counts: boolean },
    blocks: Block[],
  ): Promise<Found & { error?: RpcError }> {
    const [first, last] = [blocks[0], blocks.at(-1)!];
    const logCalls = by.logs
      ? blocks.map(({ hash }) => this.logCall({ blockHash: hash }))
      : [this.logCall({ fromBlock: hex(first.number), toBlock: hex(last.number) })];
    const results = await this.ask([
      ...logCalls,
      ...this.contracts.map((contract) => countCall(contract, by.counts ? last.hash : last.number)),
    ]);
    const logs = results.splice(0, logCalls.length);
    return {
      logs: (logs as RawLog[][]).flat(),
      error: logs.find((result) => result instanceof RpcError),
      counts: results.map(toCount),
    };
  }

  private logCall(blocks: object): Call {
    return ['eth_getLogs', [{ ...blocks, address: emittersOf(this.contracts) }]];
  }

  /** @throws NodeBehind */
  private async confirm({ number, hash }: Block): Promise<void> {
    const [raw] = await this.ask([headerCall(number)]);
    if (raw instanceof RpcError) throw raw;
    if (!raw || toBlock(raw as RawBlock).hash !== hash)
      throw new NodeBehind(`block ${number} changed while it was read`);
  }
}
