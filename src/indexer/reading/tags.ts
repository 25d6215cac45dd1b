import type { Confirmations } from '#settings/indexer.settings';
import { type Block, type RawBlock, toBlock } from './raw-chain';
import { type Call, type Rpc, RpcError } from './rpc';

/** What a node may say of a block beside its number: a change of it is unlikely, or impossible. */
export type Tag = 'safe' | 'finalized';
export type Tagged = Partial<Record<Tag, Block>>;

/** How often the tags are asked for: with the head, and where that takes requests of their own. */
const ASK_MS = { together: 2_000, apart: 12_000 };
/** Wait after a node had none. After requests that failed, which may be for the sake of the tags, it doubles. */
const NONE_MS = 60_000;
const MAX_WAIT_MS = 3_600_000;

/** Asks a node for its head, and every few seconds in the same request for the blocks that it calls safe and final. */
export class TagReader {
  /** As the node said last. */
  tagged: Tagged = {};
  private askAt = 0;
  private failures = 0;

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
    const tags = performance.now() >= this.askAt ? this.tags : [];
    const [latest, ...found] = await this.ask(tags, patienceMs);
    if (latest instanceof RpcError) throw latest;
    const head = latest ? toBlock(latest as RawBlock) : undefined;
    if (head && tags.length > 0) this.note(head, tags, found);
    return head;
  }

  /** What fails with tags is tried without them. If that fails too, they were not the cause. */
  private async ask(tags: Tag[], patienceMs?: number): Promise<unknown[]> {
    try {
      return await this.rpc.settled(['latest', ...tags].map(call), patienceMs, 'reading');
    } catch (error) {
      if (tags.length > 0) this.wait(Math.min(NONE_MS * 2 ** this.failures++, MAX_WAIT_MS));
      else if (this.failures > 0) this.wait((this.failures = 0));
      throw error;
    }
  }

  private note(head: Block, tags: Tag[], found: unknown[]): void {
    this.failures = 0;
    const highest = typeof this.confirmations === 'string' ? head.number : head.number - 1;
    const said = tags.map((tag, i) => [tag, taggedBlock(found[i], highest)] as const);
    for (const [tag, block] of said) if (block) this.tagged[tag] = block;
    const isTogether = this.rpc.fitsOneRequest(1 + tags.length);
    if (said.every(([, block]) => !block)) this.wait(NONE_MS);
    else this.wait(isTogether ? ASK_MS.together : ASK_MS.apart);
  }

  private wait(ms: number): void {
    this.askAt = performance.now() + ms;
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
