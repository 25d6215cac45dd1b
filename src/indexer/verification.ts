import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { within } from '#platform/timing/waits';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { IndexerSettings } from '#settings/indexer.settings';
import { ContinuousVerification } from '#verify/continuous';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { AgreedChain } from './agreement/agreed-chain';

/** A statement under way may take longer; it changes nothing, so the process need not wait for its end. */
const STOP_MS = 1000;

/** The endpoints of RPC_URL, for the command. As it asks about an old block, each has RPC_TIMEOUT for an answer. */
export const endpointsOf = ({
  RPC_URL,
  RPC_AGREE,
  RPC_REQUESTS_PER_SECOND,
  RPC_TIMEOUT,
}: Pick<
  IndexerSettings,
  'RPC_URL' | 'RPC_AGREE' | 'RPC_REQUESTS_PER_SECOND' | 'RPC_TIMEOUT'
>): AgreedChain => {
  const nothing = (): undefined => undefined;
  const endpoints = rpcEndpoints(RPC_URL!, RPC_REQUESTS_PER_SECOND);
  return new AgreedChain(
    endpoints.map(
      (each) => new WatchedEndpoint({ ...each, historyMs: RPC_TIMEOUT * 1000 }, [], nothing, nothing),
    ),
    RPC_AGREE,
    false,
  );
};

/**
 * Verifies a part of the whole from time to time while this process leads and is synced, over connections of its own, so that
 * the indexing loop never waits for it.
 */
@Injectable()
export class BackgroundVerification implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stop = new AbortController();
  private running = Promise.resolve();

  constructor(
    private readonly postgres: PostgresSettings,
    private readonly settings: IndexerSettings,
    private readonly endpoints: RpcEndpoints,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  onApplicationBootstrap(): void {
    const { RPC_AGREE, VERIFY_POOLS, VERIFY_INTERVAL } = this.settings;
    const options = {
      databaseUrl: this.postgres.DATABASE_URL,
      perRound: VERIFY_POOLS,
      roundMs: VERIFY_INTERVAL * 1000,
      mayVerify: () => this.telemetry.state === 'synced',
    };
    const chain = new AgreedChain(this.endpoints.all, RPC_AGREE);
    this.running = new ContinuousVerification(
      options,
      chain,
      this.telemetry.registry,
      this.stop.signal,
    ).run();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await within(STOP_MS, this.running);
  }
}
