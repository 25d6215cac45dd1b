import type { Confirmations } from '#settings/indexer.settings';
import type { RpcEndpoint } from '#ledger/chain/endpoints';
import type { RetryKind } from '#ledger/chain/json-rpc';
import type { DecodeLog } from './decode';
import { type Block, type RawBlock, chainIdOf, headerCall, toBlock } from './raw-chain';
import { type Call, Rpc, RpcResting, RpcUnavailable } from './rpc';
import { Source } from './source';
import { type Tagged, TagReader } from './tags';

export type EndpointState = 'ok' | 'lagging' | 'failing' | 'lying' | 'wrong_chain';
export const ENDPOINT_STATES: EndpointState[] = ['ok', 'lagging', 'failing', 'lying', 'wrong_chain'];

/** An endpoint lags, and is left for another, if it does not have within this time what others had. */
const LAG_MS = 10_000;
/** An endpoint that is behind and has had no new head for this long does not count: it hangs, or left the chain. */
const STUCK_MS = 60_000;
/** Wait before an endpoint that failed or lied is asked again. It doubles each time. */
const BACKOFF_MS = { failing: 1_000, lying: 5_000 };
const MAX_BACKOFF_MS = { failing: 30_000, lying: 300_000 };

/** Identifies a chain. */
export interface ChainIdentity {
  chainId: number;
  genesis: string;
}

/** One of the addresses in RPC_URL: its recent health, and its view of the chain. */
export class WatchedEndpoint {
  readonly source: Source;
  head?: Block;
  identity?: ChainIdentity;
  error?: Error;
  wrongChain = false;
  private fault?: { kind: 'failing' | 'lying'; times: number; at: number; retryAt: number; reading: boolean };
  private behind?: { target: number; since: number };
  private lagging = false;
  private stuck = false;
  private headAt = 0;
  private probing?: Promise<void>;
  readonly name: string;
  private readonly tags: TagReader;
  private readonly sources = new Map<string, Source>();

  constructor(
    endpoint: RpcEndpoint,
    contracts: string[],
    private readonly decode: DecodeLog,
    onRetry: (kind: RetryKind) => void,
    confirmations?: Confirmations,
  ) {
    this.name = endpoint.name;
    this.source = new Source(new Rpc(endpoint, onRetry), contracts, decode);
    this.tags = new TagReader(this.source.rpc, confirmations);
    this.sources.set(contracts.join(), this.source);
  }

  /** Reads events of these contracts alone, in ranges of a size of their own. */
  about(contracts: string[]): Source {
    const key = contracts.join();
    const source = this.sources.get(key) ?? new Source(this.source.rpc, contracts, this.decode);
    this.sources.set(key, source);
    return source;
  }

  /** The blocks that it calls safe and final, as far as it has said. */
  get tagged(): Tagged {
    return this.tags.tagged;
  }

  get state(): EndpointState {
    if (this.wrongChain) return 'wrong_chain';
    if (this.fault) return this.fault.kind;
    return this.lagging || this.stuck ? 'lagging' : 'ok';
  }

  /** Whether it is in backoff. */
  get resting(): boolean {
    return this.fault !== undefined && Date.now() < this.fault.retryAt;
  }

  /**
   * Whether it votes. An endpoint that is behind still does, also by lacking a block: otherwise a liar could exclude it by
   * claiming a higher head.
   */
  get heard(): boolean {
    return !this.error && !this.resting && !this.wrongChain && !this.stuck;
  }

  /** Asks for its head and, at first and after a failure, for its chain. Does not throw when the endpoint fails. */
  probe(patienceMs?: number): Promise<void> {
    this.probing ??= this.ask(patienceMs).finally(() => (this.probing = undefined));
    return this.probing;
  }

  private async ask(patienceMs?: number): Promise<void> {
    try {
      if (!this.identity || this.fault) {
        const calls: Call[] = [['eth_chainId', []], headerCall(0)];
        const [id, genesis] = await this.source.rpc.batch<[string, RawBlock | null]>(calls, patienceMs);
        const first = genesis && toBlock(genesis);
        // Some nodes answer with another block.
        if (first?.number !== 0)
          throw new RpcUnavailable(
            'the endpoint has no block 0: chains that begin with another one are not supported',
          );
        this.identity = { chainId: chainIdOf(id), genesis: first.hash };
      }
      const head = await this.tags.head(patienceMs);
      if (!head) throw new RpcUnavailable('the endpoint has no head');
      if (head.hash !== this.head?.hash) this.headAt = Date.now();
      this.head = head;
      this.error = undefined;
      // Having a head does not clear a lie or a failed read. Agreeing with the others does.
      if (this.fault?.kind === 'failing' && !this.fault.reading) this.fault = undefined;
    } catch (error) {
      // Whatever goes wrong with what it sent is its failure.
      this.error = error as Error;
      this.failed('failing', false, error instanceof RpcResting ? error.restMs : undefined);
    }
  }

  /** @param restMs when it is asked again, if it said so */
  failed(kind: 'failing' | 'lying', reading = false, restMs?: number): void {
    if (kind === 'failing' && this.fault?.kind === 'lying') return;
    const times = this.fault?.kind === kind ? this.fault.times + 1 : 0;
    const waitMs = restMs ?? Math.min(BACKOFF_MS[kind] * 2 ** times, MAX_BACKOFF_MS[kind]);
    const at = Date.now();
    this.fault = { kind, times, at, retryAt: at + waitMs, reading };
  }

  /** Its answer was that of the others. @param asked when: what it did since is not undone by that */
  agreed(asked = Infinity): void {
    if (this.fault && this.fault.at < asked) this.fault = undefined;
  }

  /** Whether it has had no new head for long, though another has a higher one. */
  standsStill(highest: number): boolean {
    this.stuck = (this.head?.number ?? -1) < highest && Date.now() - this.headAt > STUCK_MS;
    return this.stuck;
  }

  /** Compares its head with the best one. It lags if it does not reach within LAG_MS what the others had. */
  compare(best: number): void {
    const head = this.head?.number ?? -1;
    if (this.behind && head >= this.behind.target) this.behind = undefined;
    if (head < best) this.behind ??= { target: best, since: Date.now() };
    this.lagging = this.behind !== undefined && Date.now() - this.behind.since > LAG_MS;
  }
}
