import { Injectable, Logger } from '@nestjs/common';
import { within } from '#platform/timing/waits';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { IndexerSettings } from '#settings/indexer.settings';
import { type ChainIdentity, WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { Block } from '#indexer/reading/raw-chain';
import { RpcUnavailable } from '#indexer/reading/rpc';
import { type BlockBatch, NodeBehind, type Plan } from '#indexer/reading/block-batch';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { chooseChain } from './chain-choice';
import { Disagreement, type Testimony, compared, contradicts, testify, verdict } from './cross-check';
import { type Heads, isShared, judgeHeads } from './heads';
import { SequenceGap, type SequenceCheck } from './sequence-check';

/** With several endpoints a probe gives up early, as another endpoint can take over. */
const PROBE_PATIENCE_MS = 1000;
/** The others get this long to show a new head of the reader, or it would be seen only at the next look. */
const ECHO_MS = 250;

/** A batch that one endpoint read, and what the others say about the same blocks. */
export interface Reading {
  reader: WatchedEndpoint;
  batch: BlockBatch;
  testimonies: Testimony[];
  /** Read for a contract apart. What endpoints say of old blocks is not held against them at the head. */
  isAside: boolean;
  /** Contracts of which the batch is proven to have all events, and no others. */
  proven?: ReadonlySet<string>;
}

/**
 * The endpoints of RPC_URL. The first healthy one is the reader: each batch is read from it. The others read the same
 * blocks. A batch is applied only if they agree, or by their majority.
 */
@Injectable()
export class RpcEndpoints {
  /** Addresses of all contracts that are followed, without duplicates. */
  readonly contracts: string[];
  readonly all: WatchedEndpoint[];
  private readonly logger = new Logger('Endpoints');
  private readonly several: boolean;
  private identity?: ChainIdentity;
  private reader: WatchedEndpoint;

  constructor(
    private readonly environment: IndexerSettings,
    private readonly telemetry: IndexerTelemetry,
  ) {
    const { RPC_URL, RPC_REQUESTS_PER_SECOND, POOL_CONTRACTS } = environment;
    this.contracts = [...new Set([...POOL_CONTRACTS.values()].flat())];
    const named = new Map<string, number>();
    this.all = rpcEndpoints(RPC_URL!, RPC_REQUESTS_PER_SECOND).map((endpoint) => {
      const times = (named.get(endpoint.name) ?? 0) + 1;
      named.set(endpoint.name, times);
      const name = times > 1 ? `${endpoint.name}#${times}` : endpoint.name;
      return new WatchedEndpoint(endpoint, name, this.contracts, (kind) =>
        telemetry.retries.inc({ kind, endpoint: name }),
      );
    });
    this.several = this.all.length > 1;
    [this.reader] = this.all;
    telemetry.watchEndpoints(() => this.all);
  }

  /**
   * Decides which chain to follow: the database's, or else as `chooseChain`. Endpoints of another one are left out.
   * @returns an endpoint of that chain, or one of another if none is of it
   * @throws RpcUnavailable, ChainUndecided
   */
  async identify(known: ChainIdentity | undefined, chainId: number | undefined): Promise<WatchedEndpoint> {
    await Promise.all(this.all.map((each) => each.probe(this.several ? PROBE_PATIENCE_MS : undefined)));
    const answering = this.all.filter(({ identity, error }) => identity && !error);
    if (answering.length === 0) throw this.reader.error ?? new RpcUnavailable('no endpoint answers');
    this.identity = known ?? chooseChain(this.all, this.environment.RPC_AGREE, chainId);
    this.judgeChains();
    const right = answering.find(({ wrongChain }) => !wrongChain);
    if (!right && answering.length < this.all.length)
      throw new RpcUnavailable('all endpoints that answer are of another chain than the database');
    this.reader = right ?? answering[0];
    return this.reader;
  }

  private judgeChains(): void {
    if (!this.several) return;
    for (const each of this.all) {
      if (!each.identity || !this.identity) continue;
      const { chainId, genesis } = each.identity;
      const wrong = chainId !== this.identity.chainId || genesis !== this.identity.genesis;
      if (wrong && !each.wrongChain) this.logger.error(`${each.name} is of another chain: ${chainId}`);
      each.wrongChain = wrong;
      if (wrong && !each.resting) each.failed('failing');
    }
  }

  /** Asks for the heads, and chooses the reader. @throws RpcUnavailable when no endpoint answers */
  async askForHeads(): Promise<Heads> {
    const { RPC_AGREE } = this.environment;
    const awake = this.all.filter(({ resting }) => !resting);
    const asked = awake.length > 0 ? awake : this.all;
    const probes = asked.map((each) => each.probe(this.several ? PROBE_PATIENCE_MS : undefined));
    const own: Promise<void> | undefined = probes[asked.indexOf(this.reader)];
    if (own !== undefined) await own;
    // An endpoint that hangs must not delay the others.
    if (own === undefined || this.reader.error) await Promise.all(probes);
    else if (!isShared(this.reader, this.all, RPC_AGREE)) await within(ECHO_MS, Promise.all(probes));
    this.judgeChains();
    const heads = judgeHeads(this.all, RPC_AGREE);
    if (!heads) throw this.reader.error ?? new RpcUnavailable('too few endpoints answer');
    const { reader } = heads;
    if (reader !== this.reader)
      this.logger.warn(`reading from ${reader.name}; ${this.reader.name} is ${this.reader.state}`);
    this.reader = reader;
    return heads;
  }

  /** The other endpoints that are asked. One that failed or lied is asked again when its backoff is over. */
  private witnesses(reader: WatchedEndpoint): WatchedEndpoint[] {
    return this.all.filter((each) => each !== reader && each.heard);
  }

  /**
   * Reads the next batch of some contracts from the reader and, at the same time, from the others.
   * @param aside another reader, for a contract apart
   * @throws as Source.read
   */
  async read(after: Block, upTo: number, contracts: string[], aside?: WatchedEndpoint): Promise<Reading> {
    const reader = aside ?? this.reader;
    const isAside = aside !== undefined;
    const hear = (some: WatchedEndpoint[], plan: Plan): Promise<Testimony[]> =>
      Promise.all(
        some.map((each) =>
          testify(
            each,
            () => each.about(contracts).readTo(after, plan),
            (batch) => ({ stance: 'agrees', batch }),
            !isAside,
          ),
        ),
      );
    const source = reader.about(contracts);
    const witnesses = this.witnesses(reader);
    // Enough for a majority together with the reader. The rest is asked only if these disagree.
    const enough = Math.max(Math.ceil(witnesses.length / 2), this.environment.RPC_AGREE - 1);
    const first = witnesses.slice(0, enough);
    const plan = source.plan(after, upTo);
    const early = hear(first, plan);
    early.catch(() => undefined);
    const batch = await source.read(after, upTo);
    const actual = { ...plan, to: batch.to.number };
    const heard = await (actual.to === plan.to ? early : hear(first, actual));
    if (compared(heard, batch).some(({ stance }) => stance !== 'agrees'))
      heard.push(...(await hear(witnesses.slice(first.length), actual)));
    return { reader, batch, testimonies: compared(heard, batch), isAside };
  }

  /** Who reads for a contract apart: the reader, and after each failure another one. */
  readerAside(failures: number): WatchedEndpoint {
    const heard = [this.reader, ...this.witnesses(this.reader)];
    return heard[failures % heard.length];
  }

  /**
   * Votes on a batch that agrees with the reader's own event counts. An endpoint whose events do not agree with its own
   * counts, or that are proven wrong, leaves events out, so it has no vote.
   * @returns the batch, with the counts that any endpoint knows
   * @throws Disagreement, NodeBehind
   */
  judge({ reader, batch, testimonies, isAside, proven }: Reading, sequence: SequenceCheck): BlockBatch {
    const heard = testimonies.filter(({ endpoint, batch: theirs, stance }) => {
      if (stance !== 'differs' || !theirs) return true;
      if (!gapIn(sequence, theirs) && !contradicts(theirs, batch, proven)) return true;
      if (!isAside) this.accuse(endpoint, 'leaves out events');
      return false;
    });
    this.weigh(reader, heard, `block ${batch.to.number}`, isAside);
    const agreeing = heard.flatMap(({ stance, batch: theirs }) =>
      stance === 'agrees' ? (theirs ?? []) : [],
    );
    const known = (i: number): number | null | undefined =>
      agreeing.map(({ counts }) => counts[i]).find((count) => count !== undefined);
    return { ...batch, counts: batch.counts.map((count, i) => (count === undefined ? known(i) : count)) };
  }

  /** Votes on a competing block. @throws Disagreement, NodeBehind */
  async confirmFork(reader: WatchedEndpoint, block: Block): Promise<void> {
    const heard = await Promise.all(
      this.witnesses(reader).map((each) =>
        testify(
          each,
          () => each.source.block(block.number),
          ({ hash }) =>
            hash === block.hash ? { stance: 'agrees' as const } : { stance: 'differs' as const, claim: hash },
        ),
      ),
    );
    this.weigh(reader, heard, `competing block ${block.number}`);
  }

  private weigh(reader: WatchedEndpoint, testimonies: Testimony[], what: string, isAside = false): void {
    const outcome = verdict(testimonies, this.environment.RPC_AGREE);
    const differing = testimonies.filter(({ stance }) => stance === 'differs');
    for (const { endpoint } of differing) this.telemetry.disagreements.inc({ endpoint: endpoint.name });
    if (outcome === 'unconfirmed') throw new NodeBehind(`no other endpoint has ${what} yet`);
    const names = differing.map(({ endpoint }) => endpoint.name).join(', ');
    if (outcome === 'outvoted' && !isAside) this.accuse(reader, `outvoted by ${names} at ${what}`);
    if (outcome !== 'accepted') throw new Disagreement(`${reader.name} and ${names} differ at ${what}`);
    if (isAside) return;
    for (const { endpoint, stance } of testimonies) {
      if (stance === 'agrees') endpoint.agreed();
      if (stance === 'differs') this.accuse(endpoint, `outvoted at ${what}`);
    }
    if (testimonies.some(({ stance }) => stance === 'agrees')) reader.agreed();
  }

  /** The reader's batch has a gap that is not the ledger's fault. */
  contradictsItself(reader: WatchedEndpoint): void {
    if (this.several) this.accuse(reader, 'leaves out events');
  }

  /** What endpoints seemed to leave out was the contract's own doing. */
  absolve(): void {
    for (const each of this.all) each.agreed();
  }

  /**
   * The reader's answers could not be used, so another endpoint is tried, if there is one. Its head is worth nothing if
   * nobody else has it. @returns whether there is one
   */
  failed(reader: WatchedEndpoint): boolean {
    if (this.several) reader.failed('failing', true);
    const others = this.witnesses(reader).length > 0;
    if (others) this.telemetry.sync.forgetBest();
    return others;
  }

  private accuse(endpoint: WatchedEndpoint, reason: string): void {
    endpoint.failed('lying');
    this.logger.error(`${endpoint.name} is not believed: ${reason}`);
  }
}

function gapIn(sequence: SequenceCheck, batch: BlockBatch): boolean {
  try {
    sequence.check(batch);
    return false;
  } catch (error) {
    return error instanceof SequenceGap;
  }
}
