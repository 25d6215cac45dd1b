import { rpcEndpoints } from '../chain/endpoints';
import type { Environment } from '../config/environment';
import { ContinuousVerification } from '../verify/continuous';
import { Endpoints } from '../verify/endpoints';
import { VerifyMetrics } from '../verify/metrics';
import { Rpc } from './rpc';
import type { IndexerTelemetry } from './telemetry';

/** The endpoints of RPC_URL, for verification: it asks one of them at a time. */
export const endpointsOf = (addresses: string): Endpoints =>
  new Endpoints(
    rpcEndpoints(addresses).map((endpoint) => {
      const rpc = new Rpc(endpoint);
      return (calls) => rpc.settled(calls);
    }),
  );

/**
 * Verifies a few pools from time to time while this process leads and is synced, over connections of its own, so that
 * the indexing loop never waits for it. Until stopped.
 */
export function verifyContinuously(
  { DATABASE_URL, RPC_URL, VERIFY_POOLS, VERIFY_INTERVAL }: Environment,
  telemetry: IndexerTelemetry,
  signal: AbortSignal,
): Promise<void> {
  const options = {
    databaseUrl: DATABASE_URL,
    perRound: VERIFY_POOLS,
    roundMs: VERIFY_INTERVAL * 1000,
    mayLook: () => telemetry.state === 'synced',
  };
  const metrics = new VerifyMetrics(telemetry.registry);
  return new ContinuousVerification(options, endpointsOf(RPC_URL!), metrics, signal).run();
}
