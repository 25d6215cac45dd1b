import { CHAIN_STATE } from '../../src/chain/chain.sql';
import { freePort } from '../../src/local/postgres-host';
import { type IndexerProcess, eventually, useChain } from '../support/chain-bench';
import type { Faults } from '../support/chain-proxy';

/** In which health and metrics must tell of a fault. */
const NOTICE_MS = 30_000;

describe('health tells within 30 s', () => {
  const bench = useChain();
  let port: number;
  let indexer: IndexerProcess;

  /** As the API's /health, the indexer's own, and Prometheus see it. */
  async function seen(): Promise<{ api: string; own: string; synced: number; stalled: number; lag: number }> {
    const [row] = await bench.sql<{ state: string; stale: boolean }>(CHAIN_STATE.text);
    const get = (path: string): Promise<string> =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        (answer) => answer.text(),
        // It has yet to start.
        () => '{}',
      );
    const own = (JSON.parse(await get('/health')) as { status: string }).status;
    const metrics = await get('/metrics');
    const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(metrics)?.[1]);
    return {
      api: row.stale ? 'disconnected' : row.state,
      own,
      synced: value('indexer_synced'),
      stalled: value('indexer_progress_age_seconds'),
      lag: value('indexer_lag_blocks'),
    };
  }
  const synced = (): Promise<unknown> =>
    eventually('synced', seen, ({ api, own }) => api === 'synced' && own === 'synced');

  beforeAll(async () => {
    await bench.mine(300);
    port = await freePort();
    indexer = bench.indexer({ INDEXER_PORT: `${port}` });
    await bench.converged();
    await synced();
  });
  afterEach(async () => {
    bench.proxy.faults = {};
    await bench.converged();
    await synced();
  });

  const faults: [string, Faults, string][] = [
    ['that every call is refused', { refuse: () => true }, 'disconnected'],
    ['that no request is answered', { http: () => 'hang' }, 'disconnected'],
    ['that events are left out', { logs: () => [] }, 'disconnected'],
    ['that the node is 200 blocks behind', { behind: () => 200 }, 'disconnected'],
  ];
  it.each(faults)('%s', async (_, fault, state) => {
    await bench.deposit(bench.pools[0], 1n);
    await bench.converged();
    bench.proxy.faults = fault;
    await bench.deposit(bench.pools[0], 2n);
    const told = await eventually(
      'notice',
      seen,
      ({ api, own }) => api === state && own === state,
      NOTICE_MS,
    );
    expect(told.synced).toBe(0);
    await eventually('the alert', seen, ({ stalled }) => stalled > 20, NOTICE_MS);
  });

  it('that the node stands still, on a chain with a block every few seconds', async () => {
    await indexer.end();
    indexer = bench.indexer({ INDEXER_PORT: `${port}`, MAX_HEAD_AGE: '10' });
    await bench.mine(1);
    await bench.converged();
    await eventually('notice', seen, ({ api, own }) => api === 'syncing' && own === 'syncing', NOTICE_MS);
    await indexer.end();
    indexer = bench.indexer({ INDEXER_PORT: `${port}` });
  });
});
