import { CHAIN_STATE } from '#ledger/chain/chain.sql';
import { freePort } from '#dev/postgres-host';
import { ChainBench, type IndexerProcess, eventually } from '../../support/chain/chain-bench';
import type { Faults } from '../../support/chain/rpc-node';

interface Told {
  api: string;
  own: string;
  synced: number;
  stalled: number;
  lag: number;
}

/** An indexer that follows a chain of its own, and what is told of it. */
class Watched {
  readonly bench = new ChainBench();
  private port: number;
  private indexer: IndexerProcess;

  async start(): Promise<void> {
    await this.bench.start();
    await this.bench.mine(300);
    this.port = await freePort();
    this.follow();
    await this.bench.converged();
    await this.synced();
  }

  follow(settings: NodeJS.ProcessEnv = {}): void {
    this.indexer = this.bench.indexer({ INDEXER_PORT: `${this.port}`, ...settings });
  }

  end(): Promise<void> {
    return this.indexer.end();
  }

  /** Waits until it is told so. */
  told(what: string, wanted: (told: Told) => boolean): Promise<Told> {
    return eventually(what, () => this.seen(), wanted);
  }

  synced(): Promise<Told> {
    return this.told('synced', ({ api, own }) => api === 'synced' && own === 'synced');
  }

  /** As the API's /health, the indexer's own, and Prometheus see it. */
  private async seen(): Promise<Told> {
    const [row] = await this.bench.sql<{ state: string; stale: boolean }>(CHAIN_STATE.text);
    const get = (path: string): Promise<string> =>
      fetch(`http://127.0.0.1:${this.port}${path}`).then(
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
}

async function tells(watched: Watched, fault: Faults, state: string): Promise<void> {
  const { bench } = watched;
  await bench.deposit(bench.pools[0], 1n);
  await bench.converged();
  bench.proxy.faults = fault;
  await bench.deposit(bench.pools[0], 2n);
  await watched.told('notice', ({ api, own, synced }) => api === state && own === state && synced === 0);
  await watched.told('the alert', ({ stalled }) => stalled > 20);
  bench.proxy.faults = {};
  await bench.converged();
  await watched.synced();
}

async function tellsOfStandstill(watched: Watched): Promise<void> {
  await watched.end();
  watched.follow({ MAX_HEAD_AGE: '10' });
  await watched.bench.mine(1);
  await watched.bench.converged();
  await watched.told('notice', ({ api, own }) => api === 'syncing' && own === 'syncing');
  await watched.end();
  watched.follow();
  await watched.bench.converged();
  await watched.synced();
}

describe('health tells', () => {
  const faults: [string, (watched: Watched) => Promise<void>][] = [
    ['that every call is refused', (watched) => tells(watched, { refuse: () => true }, 'disconnected')],
    ['that no request is answered', (watched) => tells(watched, { http: () => 'hang' }, 'disconnected')],
    ['that events are left out', (watched) => tells(watched, { logs: () => [] }, 'disconnected')],
    [
      'that the node is 200 blocks behind',
      (watched) => tells(watched, { behind: () => 200 }, 'disconnected'),
    ],
    ['that the node stands still, on a chain with a block every few seconds', tellsOfStandstill],
  ];
  const all = faults.map(([, fault]) => ({ watched: new Watched(), fault, outcome: Promise.resolve() }));

  // All at once, because each mostly waits; but they start one after another, because that is work.
  beforeAll(async () => {
    for (const each of all) await each.watched.start();
    for (const each of all) {
      each.outcome = each.fault(each.watched);
      each.outcome.catch(() => undefined);
    }
  });
  afterAll(async () => {
    for (const { watched } of all) await watched.bench.stop();
  });

  it.each(faults.map(([name], i) => [name, i] as const))('%s', async (_, i) => {
    await all[i].outcome;
  });
});
