import { Injectable, Logger } from '@nestjs/common';
import { within } from '#platform/timing/waits';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { IndexerSettings } from '#settings/indexer.settings';
import { ContractAdapters } from '#indexer/adapters/contract-adapters';
import { type ChainIdentity, WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { Marks } from '#indexer/reading/finality';
import { type Block, MalformedAnswer } from '#indexer/reading/raw-chain';
import { RetryableChainError, RpcUnavailable } from '#indexer/reading/rpc';
import { type BlockBatch, ForkDetected, NodeBehind, type Plan } from '#indexer/reading/block-batch';
import type { RetryKind } from '#ledger/chain/json-rpc';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { type Heads, judgeHeads } from './heads';
import { type SequenceCheck, hasGap } from './sequence-check';
import { Disagreement, type Testimony, acceptedClaim, claimsOf, verdict } from './vote';

/** With several endpoints a probe gives up early, as another endpoint can take over. */
const PROBE_PATIENCE_MS = 1000;
/** The others get this long to show a new head of the reader, or it would be seen only at the next look. */
const ECHO_MS = 250;

/** A batch that one endpoint read, and what the others say about the same blocks. */
export interface Reading {
  reader: WatchedEndpoint;
  batch: BlockBatch;
  testimonies: Testimony[];
  /** Read for a detached contract. What endpoints say of old blocks is not held against them at the head. */
  isAside: boolean;
  /** When it was begun: it may have been read long before it is judged. */
  asked: number;
  /** What was safe and final then. */
  marks: Marks;
  /** Contracts of which the batch is proven to have all events, and no others. */
  proven?: ReadonlySet<string>;
}

/** Nothing but what the endpoint sent can make reading fail. @throws RetryableChainError */
async function usable<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof RetryableChainError) throw error;
    throw new MalformedAnswer(`an unusable answer: ${(error as Error).message}`, { cause: error });
  }
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
  private marks: Marks = {};

  constructor(
    private readonly environment: IndexerSettings,
    private readonly telemetry: IndexerTelemetry,
    adapters: ContractAdapters,
  ) {
    const { RPC_URL, RPC_REQUESTS_PER_SECOND, RPC_TIMEOUT, POOL_CONTRACTS, CONFIRMATIONS } = environment;
    this.contracts = [...new Set([...POOL_CONTRACTS.values()].flat())];
    this.all = rpcEndpoints(RPC_URL!, RPC_REQUESTS_PER_SECOND).map((endpoint) => {
      const onRetry = (kind: RetryKind): void => telemetry.retries.inc({ kind, endpoint: endpoint.name });
      const watched = { ...endpoint, historyMs: RPC_TIMEOUT * 1000 };
      return new WatchedEndpoint(watched, this.contracts, adapters.decode, onRetry, CONFIRMATIONS);
    });
    this.several = this.all.length > 1;
    [this.reader] = this.all;
    telemetry.endpoints = () => this.all;
  }

  /**
   * Decides which chain to follow: the database's, or else as `chooseChain`. Endpoints of another one are left out.
   * @returns an endpoint of that chain, or one of another if none is of it
   * @throws RpcUnavailable, ChainUndecided
   */
  async identify(known: ChainIdentity | undefined): Promise<WatchedEndpoint> {
    await Promise.all(this.all.map((each) => each.probe(this.several ? PROBE_PATIENCE_MS : undefined)));
    const answering = this.all.filter(({ identity, error }) => identity && !error);
    if (answering.length === 0) throw this.reader.error ?? new RpcUnavailable('no endpoint answers');
    this.identity = known ?? chooseChain(this.all, this.environment.RPC_AGREE, this.environment.CHAIN_ID);
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
    else await within(ECHO_MS, Promise.all(probes));
    this.judgeChains();
    const heads = judgeHeads(this.all, RPC_AGREE);
    if (!heads) throw this.reader.error ?? new RpcUnavailable('too few endpoints answer');
    const { reader } = heads;
    if (reader !== this.reader)
      this.logger.warn(`reading from ${reader.name}; ${this.reader.name} is ${this.reader.state}`);
    this.reader = reader;
    this.marks = heads.marks;
    return heads;
  }

  /** The other endpoints that are asked. One that failed or lied is asked again when its backoff is over. */
  private witnesses(reader: WatchedEndpoint): WatchedEndpoint[] {
    return this.all.filter((each) => each !== reader && each.heard);
  }

  /**
   * The next range: no more blocks than the reader and the first witnesses can read at once.
   * @param aside another reader, for a detached contract
   */
  plan(after: Pick<Block, 'number'>, upTo: number, contracts: string[], aside?: WatchedEndpoint): Plan {
    const reader = aside ?? this.reader;
    const theirs = this.askedFirst(reader).map((each) => each.about(contracts).mostBlocks);
    // All headers after the final block are read, except for a detached contract, whose headers are not stored.
    const finalized = aside ? undefined : this.marks.finalized?.number;
    return reader.about(contracts).plan(after, upTo, finalized, Math.min(...theirs));
  }

  /** Enough other endpoints for a majority together with the reader. */
  private askedFirst(reader: WatchedEndpoint): WatchedEndpoint[] {
    const witnesses = this.witnesses(reader);
    return witnesses.slice(0, Math.max(Math.ceil(witnesses.length / 2), this.environment.RPC_AGREE - 1));
  }

  /**
   * Reads a range of some contracts from the reader and, at the same time, from enough others; the rest is asked
   * only if these disagree.
   * @throws as Source.readTo
   */
  async read(after: Block, plan: Plan, contracts: string[], aside?: WatchedEndpoint): Promise<Reading> {
    const { marks } = this;
    const [reader, isAside, asked] = [aside ?? this.reader, aside !== undefined, Date.now()];
    const hear = async (some: WatchedEndpoint[]): Promise<Testimony[]> =>
      (await Promise.all(some.map((each) => this.hear(each, after, plan, contracts, isAside)))).flat();
    const first = this.askedFirst(reader);
    const early = hear(first);
    const batch = await usable(reader.about(contracts).readTo(after, plan));
    const heard = await early;
    const rest = this.witnesses(reader).filter((each) => !first.includes(each));
    if (rest.length > 0) {
      const [ours, ...claims] = claimsOf(batch, heard);
      if (heard.length < first.length || claims.some((claim) => claim !== ours))
        heard.push(...(await hear(rest)));
    }
    return { reader, batch, testimonies: heard, isAside, asked, marks };
  }

  /** What another endpoint reads of the reader's blocks; nothing if it fails, which is its own fault. */
  private async hear(
    endpoint: WatchedEndpoint,
    after: Block,
    plan: Plan,
    contracts: string[],
    isAside: boolean,
  ): Promise<Testimony[]> {
    try {
      return [{ endpoint, batch: await endpoint.about(contracts).readTo(after, plan) }];
    } catch (error) {
      if (error instanceof NodeBehind) return [{ endpoint }];
      // Its chain does not continue from our cursor, so it contradicts every batch that does.
      if (error instanceof ForkDetected) return [{ endpoint, fork: error.message }];
      if (!isAside) endpoint.failed('failing', true);
      return [];
    }
  }

  /** Headers by the reader alone. @throws RetryableChainError */
  headers(numbers: number[]): Promise<(Block | undefined)[]> {
    return this.reader.source.blocks(numbers);
  }

  /**
   * Headers by majority; undefined where too few endpoints have the block.
   * @throws Disagreement, RetryableChainError when no endpoint answers
   */
  async blocks(numbers: number[]): Promise<(Block | undefined)[]> {
    const heard = [this.reader, ...this.witnesses(this.reader)];
    const asked = heard.map(({ source }) => source.blocks(numbers));
    const outcomes = await Promise.allSettled(asked);
    const answered = outcomes.flatMap((each, i) =>
      each.status === 'fulfilled' ? [{ endpoint: heard[i], blocks: each.value }] : [],
    );
    // The reader's error says why, and what to do about it.
    if (answered.length === 0) return asked[0];
    return numbers.map((number, i) => {
      const said = answered.map(({ blocks }) => blocks[i]);
      const claims = said.map((block) => block && JSON.stringify(block));
      const accepted = said[acceptedClaim(claims, this.environment.RPC_AGREE)];
      const first = claims.findIndex(Boolean);
      const differing = answered.filter((_, n) => claims[n] && claims[n] !== claims[first]);
      if (accepted || differing.length === 0) return accepted;
      const names = this.countDiffering(differing);
      throw new Disagreement(`${answered[first].endpoint.name} and ${names} differ at block ${number}`);
    });
  }

  /** Who reads for a contract apart: the reader, and after each failure another one. */
  readerAside(failures: number): WatchedEndpoint {
    const heard = [this.reader, ...this.witnesses(this.reader)];
    return heard[failures % heard.length];
  }

  /**
   * Votes on a batch that agrees with the reader's own event counts. An endpoint whose events do not agree with its own
   * counts leaves events out, so it has no vote.
   * @returns the batch, with the counts that any endpoint knows
   * @throws Disagreement, NodeBehind
   */
  judge(
    { reader, batch, testimonies, isAside, asked, proven }: Reading,
    sequence: SequenceCheck,
  ): BlockBatch {
    const [ours, ...claims] = claimsOf(batch, testimonies, proven);
    const heard = testimonies
      .map((each, i) => ({ ...each, claim: claims[i] }))
      .filter(({ endpoint, batch: theirs, claim }) => {
        if (claim === ours || !theirs || !hasGap(sequence, theirs)) return true;
        if (!isAside) this.accuse(endpoint, 'leaves out events');
        return false;
      });
    const what = `block ${batch.to.number}`;
    const outcome = verdict(
      ours,
      heard.map(({ claim }) => claim),
      this.environment.RPC_AGREE,
    );
    const agreeing = heard.filter(({ claim }) => claim === ours);
    const differing = heard.filter(({ claim }) => claim !== undefined && claim !== ours);
    const names = this.countDiffering(differing);
    if (outcome === 'unconfirmed') throw new NodeBehind(`no other endpoint has ${what} yet`);
    if (outcome === 'outvoted' && !isAside) this.accuse(reader, `outvoted by ${names} at ${what}`);
    if (outcome !== 'accepted') throw new Disagreement(`${reader.name} and ${names} differ at ${what}`);
    if (!isAside) {
      for (const { endpoint } of agreeing) for (const each of [endpoint, reader]) each.agreed(asked);
      for (const { endpoint } of differing) this.accuse(endpoint, `outvoted at ${what}`);
    }
    const known = (i: number): number | null | undefined =>
      agreeing.map(({ batch: theirs }) => theirs?.counts[i]).find((count) => count !== undefined);
    return { ...batch, counts: batch.counts.map((count, i) => (count === undefined ? known(i) : count)) };
  }

  /** Votes on a competing block. @throws Disagreement, NodeBehind */
  async confirmFork(reader: WatchedEndpoint, { number, hash }: Block): Promise<void> {
    const [accepted] = await this.blocks([number]);
    if (accepted?.hash === hash) return;
    if (!accepted || !this.several) throw new NodeBehind(`competing block ${number} is not confirmed yet`);
    this.accuse(reader, `outvoted at competing block ${number}`);
    throw new Disagreement(`the others have another block ${number} than ${reader.name}`);
  }

  /** Counts endpoints that differ from another one. @returns their names */
  private countDiffering(differing: { endpoint: WatchedEndpoint }[]): string {
    const names = differing.map(({ endpoint }) => endpoint.name);
    for (const endpoint of names) this.telemetry.disagreements.inc({ endpoint });
    return names.join(', ');
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

/** The endpoints do not tell which chain to follow. Nothing is guessed: the first start binds the database to a chain. */
export class ChainUndecided extends RetryableChainError {}

type Endpoint = Pick<WatchedEndpoint, 'name' | 'identity' | 'error'>;

/**
 * The chain of the first start: that of most endpoints of RPC_URL, or with CHAIN_ID that of most of those that answer
 * with it. So many as have to agree about blocks have to agree about the chain.
 * @returns the chain of the first one when all of them are of another chain than CHAIN_ID
 * @throws ChainUndecided
 */
export function chooseChain(all: Endpoint[], agree: number, chainId?: number): ChainIdentity {
  const answering = all.filter(({ identity, error }) => identity && !error);
  const wanted = answering.filter(({ identity }) => !chainId || identity!.chainId === chainId);
  if (wanted.length === 0 && answering.length === all.length) return answering[0].identity!;
  const enough = chainId ? agree : Math.max(agree, Math.floor(all.length / 2) + 1);
  const accepted = acceptedClaim(
    wanted.map(({ identity }) => JSON.stringify(identity)),
    enough,
  );
  if (accepted >= 0) return wanted[accepted].identity!;
  const told = all.map(({ name, identity, error }) =>
    identity && !error
      ? `${name} is of chain ${identity.chainId} with genesis ${identity.genesis}`
      : `${name} does not answer`,
  );
  throw new ChainUndecided(
    `which chain to follow is not clear: ${told.join(', ')}. ` +
      (chainId ? `${enough} of chain ${chainId} have to agree` : 'CHAIN_ID would tell'),
  );
}
