import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { within } from '#platform/timing/waits';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { IndexerSettings } from '#settings/indexer.settings';
import { EndpointRotation } from '#verify/checks/endpoint-rotation';
import { ContinuousVerification } from '#verify/continuous';
import { VerifyMetrics } from '#verify/metrics';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { Rpc } from '#indexer/reading/rpc';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';

/** A statement under way may take longer; it changes nothing, so the process need not wait for its end. */
const STOP_MS = 1000;

/** Verification asks one endpoint at a time. */
const rotationOf = (all: Rpc[]): EndpointRotation =>
  new EndpointRotation(all.map((rpc) => (calls) => rpc.settled(calls)));

/** The endpoints of RPC_URL, for verification as a command. */
export const endpointsOf = ({
  RPC_URL,
  RPC_REQUESTS_PER_SECOND,
}: Pick<IndexerSettings, 'RPC_URL' | 'RPC_REQUESTS_PER_SECOND'>): EndpointRotation =>
  rotationOf(rpcEndpoints(RPC_URL!, RPC_REQUESTS_PER_SECOND).map((endpoint) => new Rpc(endpoint)));

/**
 * Verifies a few pools from time to time while this process leads and is synced, over connections of its own, so that
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
    const { VERIFY_POOLS, VERIFY_INTERVAL } = this.settings;
    const options = {
      databaseUrl: this.postgres.DATABASE_URL,
      perRound: VERIFY_POOLS,
      roundMs: VERIFY_INTERVAL * 1000,
      mayVerify: () => this.telemetry.state === 'synced',
    };
    const metrics = new VerifyMetrics(this.telemetry.registry);
    // It shares the budget of each endpoint with the reader.
    const endpoints = rotationOf(this.endpoints.all.map(({ source }) => source.rpc));
    this.running = new ContinuousVerification(options, endpoints, metrics, this.stop.signal).run();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await within(STOP_MS, this.running);
  }
}
