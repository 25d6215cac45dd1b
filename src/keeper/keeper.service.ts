import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { redactText } from '#platform/log/redact';
import { pause } from '#platform/timing/waits';
import { ChainRpc } from '#ledger/chain/chain-rpc';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { KeeperSettings } from '#settings/keeper.settings';
import { KeeperNode } from './node';
import { Sender } from './sender';
import { Attempts, type Job, type Task, circleFinder, compoundingFinder, findDraws } from './jobs';
import { type KeeperState, KeeperTelemetry } from './telemetry';

/** Time between two rounds, with half of it by chance: several keepers then seldom send the same at once. */
const ROUND_MS = 4000;

/** The node is of another chain than CHAIN_ID. */
export class WrongChain extends Error {}

/** Does what is due on the chain and anyone may do, for as long as the application runs. */
@Injectable()
export class Keeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Keeper.name);
  private readonly stop = new AbortController();
  private readonly node: KeeperNode;
  private readonly account;
  private readonly jobs: readonly Job[];
  private sender?: Sender;
  private running = Promise.resolve();

  constructor(
    private readonly settings: KeeperSettings,
    private readonly telemetry: KeeperTelemetry,
  ) {
    this.node = new KeeperNode(new ChainRpc(rpcEndpoints(settings.RPC_URL!)));
    this.account = privateKeyToAccount(settings.KEEPER_KEY!);
    const least = (contract: string): bigint =>
      BigInt(settings.KEEPER_LEAST_YIELDS.get(contract) ?? settings.KEEPER_LEAST_YIELD);
    this.jobs = [
      findDraws,
      circleFinder('end_round'),
      circleFinder('cancel_circle'),
      compoundingFinder(least),
    ];
  }

  get address(): string {
    return this.account.address;
  }

  onApplicationBootstrap(): void {
    this.logger.log(`started with account ${this.address}`);
    this.running = this.run();
    // `ended` passes the error on. Without this the process would also see an unhandled rejection.
    this.running.catch(() => undefined);
  }

  /** What was sent needs no more care: the next process finds it. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.running.catch(() => undefined);
  }

  /** Settles when the keeper has ended. @throws WrongChain */
  get ended(): Promise<void> {
    return this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stop;
    let problem: string | undefined;
    while (!signal.aborted) {
      try {
        const state = await this.round();
        if (this.telemetry.became(state) || problem) this.logger.log(state);
        problem = undefined;
      } catch (error) {
        if (error instanceof WrongChain) throw error;
        const message = redactText((error as Error).message);
        // Nodes put numbers of requests and blocks into their errors.
        const kind = message.replace(/\d+/g, '');
        if (kind !== problem) this.logger.warn(message);
        problem = kind;
      }
      await pause(ROUND_MS * (0.75 + Math.random() / 2), signal);
    }
  }

  /** Looks once for what is due, and sends at most one transaction. */
  async round(): Promise<KeeperState> {
    this.sender ??= await this.connect();
    this.telemetry.hasBalance(await this.node.balance(this.account.address));
    if (!(await this.sender.isReady())) return 'sending';
    const found: Task[] = [];
    const attempts = new Attempts();
    for (const job of this.jobs)
      found.push(...(await job(this.node, this.settings.POOL_CONTRACTS, attempts)));
    const state = await this.sender.sendOne(found, attempts);
    if (state === 'idle' && attempts.failure) throw attempts.failure;
    return state;
  }

  private async connect(): Promise<Sender> {
    const chainId = await this.node.chainId();
    const { CHAIN_ID, KEEPER_BUDGET } = this.settings;
    if (CHAIN_ID && chainId !== CHAIN_ID)
      throw new WrongChain(`the node is of chain ${chainId}, and CHAIN_ID is ${CHAIN_ID}`);
    return new Sender(this.account, chainId, this.node, this.telemetry, parseEther(KEEPER_BUDGET));
  }
}
