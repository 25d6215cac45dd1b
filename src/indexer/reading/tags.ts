import type { Confirmations } from '#settings/indexer.settings';
import { type Block, type RawBlock, toBlock } from './raw-chain';
import { type Call, type Rpc, RpcError } from './rpc';

/** What a node may say of a block beside its number: a change of it is unlikely, or impossible. */
export type Tag = 'safe' | 'finalized';
export type Tagged = Partial<Record<Tag, Block>>;

/** Time between requests for the tags, and for those of a node that has never had any or failed when asked for them. */
const ASK_MS = 2_000;
const NONE_MS = 60_000;

/** Asks a node for its head, and every few seconds in the same request for the blocks that it calls safe and final. */
export class TagReader {
  /** As the node said last. */
  tagged: Tagged = {};
  private askAt = 0;
  private readonly tags: Tag[];

  /** @param confirmations if unset, no tags are requested */
  constructor(
    private readonly rpc: Rpc,
    private readonly confirmations?: Confirmations,
  ) {
    this.tags =
      confirmations === 'safe' ? ['finalized', 'safe'] : confirmations === undefined ? [] : ['finalized'];
  }

  /** @returns undefined if the node has no head @throws RetryableChainError */
  async head(patienceMs?: number): Promise<Block | undefined> {
    const now = performance.now();
    const tags = now >= this.askAt ? this.tags : [];
    // After a failure with tags, the next request is sent without them. If that fails too, the tags were not the cause.
    this.askAt = tags.length > 0 ? now + NONE_MS : this.askAt;
    let answers: unknown[];
    try {
      answers = await this.rpc.settled(['latest', ...tags].map(call), patienceMs, 'reading');
    } catch (error) {
      if (tags.length === 0) this.askAt = 0;
      throw error;
    }
    const [latest, ...found] = answers;
    if (latest instanceof RpcError) throw latest;
    const head = latest ? toBlock(latest as RawBlock) : undefined;
    if (!head) return undefined;
    const highest = typeof this.confirmations === 'string' ? head.number : head.number - 1;
    for (const [i, tag] of tags.entries()) {
      const block = taggedBlock(found[i], highest);
      if (block) this.tagged[tag] = block;
    }
    if (tags.length > 0 && Object.keys(this.tagged).length > 0) this.askAt = now + ASK_MS;
    return head;
  }
}

const call = (tag: string): Call => ['eth_getBlockByNumber', [tag, false]];

/**
 * Many nodes have no tags: they answer with an error, with null, or with the head. A tag on the head counts
 * only if the operator configured tags, as on chains whose blocks are final at once. A block beyond the head comes from
 * another node behind the same address, or is a lie.
 */
function taggedBlock(answer: unknown, highest: number): Block | undefined {
  if (!answer || answer instanceof RpcError) return undefined;
  try {
    const block = toBlock(answer as RawBlock);
    return block.number <= highest ? block : undefined;
  } catch {
    return undefined;
  }
}
