import { ConflictException, Controller, Get, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import path from 'node:path';
import pino from 'pino';
import { POOL_TYPES } from '#values/types';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';
import { ReferencePool } from '#ledger/adapters/reference/reference-pool';
import { contractAbi } from '#ledger/chain/contract.abi';
import { circleAbi } from '#ledger/chain/rotating.abi';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { createIndexer } from '#indexer/indexer.setup';
import { Indexer } from '#indexer/leading/indexer.service';
import { RpcUnavailable } from '#indexer/reading/rpc';
import { indexerSettings, until } from '../support/app';
import { IndexerProcess, useChain } from '../support/chain/chain-bench';
import { Watcher, WatcherModule } from '../support/processes/indexer-module';
import { FROM_SOURCE } from '../support/processes/source';

const broken = new Error('of a module');
const On = eventsOf(contractAbi);

@Controller()
class FailingController {
  @Get('broken')
  broken(): never {
    throw broken;
  }

  @Get('taken')
  taken(): never {
    throw new ConflictException();
  }
}

@Module({ controllers: [FailingController] })
class FailingModule {}

/** Contracts like those here, but half of what is paid in is a fee. */
@PoolContract({
  name: 'half',
  types: POOL_TYPES,
  abi: [...contractAbi, ...circleAbi],
  numberedBy: 'seq',
})
class HalfPool extends ReferencePool {
  @On('Deposited')
  deposited({ poolId, account, amount }: EventOf<typeof contractAbi, 'Deposited'>): Happening {
    return { kind: 'Deposited', poolId, account, amount: amount / 2n };
  }
}

@Module({ providers: [HalfPool] })
class HalfModule {}

/** The indexer is a Nest application: modules are added to it, and its parts replaced, as the documentation says. */
describe('a module in the indexer', () => {
  const bench = useChain();
  const logger = pino({ level: 'silent' });
  const environment = (overrides: NodeJS.ProcessEnv = {}) =>
    indexerSettings(bench.database.url, { ...bench.settings(), ...overrides });
  const get = async (app: NestFastifyApplication, url: string) => {
    const { statusCode, body } = await app.inject({ method: 'GET', url });
    return { status: statusCode, body };
  };

  it('has its hooks called in order, repositories, statements and metrics', async () => {
    let before: string[] = [];
    const app = await createIndexer(environment(), logger, {
      modules: [WatcherModule],
      prepare: (prepared) => (before = [...prepared.get(Watcher).seen]),
    });
    const watcher = app.get(Watcher);
    try {
      expect(before).toEqual([]);
      await bench.deposit(bench.pools[0], 5n);
      await bench.converged();
      expect(await watcher.names()).toEqual(['indexer', 'indexer']);
      expect((await get(app, '/metrics')).body).toMatch(/^watched_total 7$/m);
      expect(await get(app, '/health')).toMatchObject({ status: 200 });
    } finally {
      await app.close();
    }
    expect(watcher.seen).toEqual([
      'onModuleInit not leading',
      'onApplicationBootstrap not leading',
      'beforeApplicationShutdown not leading',
      'onApplicationShutdown not leading',
    ]);
    await expect(app.get(Indexer).ended).resolves.toBeUndefined();
  });

  it('gives onError what becomes a 5xx of its port, with its request, and nothing else', async () => {
    const reported: [unknown, string][] = [];
    const app = await createIndexer(environment(), logger, {
      modules: [FailingModule],
      onError: (error, { url }) => void reported.push([error, url]),
    });
    try {
      expect((await get(app, '/broken')).status).toBe(500);
      for (const url of ['/taken', '/nowhere']) expect((await get(app, url)).status).toBeLessThan(500);
    } finally {
      await app.close();
    }
    expect(reported).toEqual([[broken, '/broken']]);
  });

  it('leads no longer once the schema is one of a later version, says so, and leads again when it is not', async () => {
    const app = await createIndexer(environment(), logger);
    const reason = async (): Promise<unknown> =>
      (JSON.parse((await get(app, '/health')).body) as { reason?: string }).reason;
    try {
      await bench.converged();
      await bench.sql(`INSERT INTO required_migrations VALUES ('New1')`);
      await until(
        async () => (await reason()) === 'schema is ahead: this version is too old for it (New1 has run)',
      );
      expect((await get(app, '/health')).status).toBe(503);
      await bench.sql('DELETE FROM required_migrations');
      await bench.deposit(bench.pools[0], 5n);
      await bench.converged();
      expect(await reason()).toBeUndefined();
    } finally {
      await app.close();
    }
  });

  it('leaves nothing behind that reads or holds a connection', async () => {
    const app = await createIndexer(environment(), logger);
    await bench.deposit(bench.pools[0], 6n);
    await bench.atHead();
    await app.close();
    // The server needs a moment to end them. Connections that were left idle would end after 30 s.
    const left = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name <> ''`;
    const ends = Date.now() + 25_000;
    await until(async () => (await bench.sql(left)).length === 0);
    expect(Date.now()).toBeLessThan(ends);
  });

  it('overrideProvider replaces a part', async () => {
    const identify = jest.fn(() => Promise.reject(new RpcUnavailable('replaced')));
    const app = await createIndexer(environment(), logger, {
      create: async (module, adapter, options) => {
        const testing = await Test.createTestingModule({ imports: [module] })
          .overrideProvider(RpcEndpoints)
          .useValue({ contracts: [], identify })
          .compile();
        return testing.createNestApplication<NestFastifyApplication>(adapter, options);
      },
    });
    try {
      await until(() => identify.mock.calls.length > 0);
      await until(async () => (await get(app, '/health')).status === 503);
    } finally {
      await app.close();
    }
  });

  function startProcess(overrides: NodeJS.ProcessEnv = {}): IndexerProcess {
    const entry = path.join(__dirname, '../support/processes/indexer-with-module.ts');
    return new IndexerProcess([...FROM_SOURCE, entry], {
      NODE_ENV: 'test',
      DATABASE_URL: bench.database.url,
      ...bench.settings(),
      INDEXER_PORT: '0',
      HOST: '127.0.0.1',
      ...overrides,
    });
  }
  const hooks = ({ output }: IndexerProcess): string[] => output.match(/^on\w+ .*|^before\w+ .*/gm) ?? [];

  it('SIGTERM and SIGINT: hooks run, then the process ends with 0', async () => {
    const both = [startProcess(), startProcess()];
    await until(() => both.every(({ output }) => output.includes('takes signals')));
    await until(() => both.some(({ output }) => output.includes('leading from block')));
    const [leader, standby] = [...both].sort((a) => (a.output.includes('leading from block') ? -1 : 1));
    await standby.end('SIGINT');
    expect([standby.code, hooks(standby).slice(2)]).toEqual([
      0,
      ['beforeApplicationShutdown leading', 'onApplicationShutdown leading'],
    ]);
    await leader.end('SIGTERM');
    expect([leader.code, hooks(leader).slice(2)]).toEqual([
      0,
      ['beforeApplicationShutdown not leading', 'onApplicationShutdown not leading'],
    ]);
  });

  it('the wrong chain: hooks run, then the process ends with 1 and says why', async () => {
    const child = startProcess({ CHAIN_ID: '5' });
    await child.ended;
    expect([child.code, hooks(child).at(-1)]).toEqual([1, 'onApplicationShutdown not leading']);
    expect(child.output.trimEnd()).toMatch(/^the node is of chain 31337, CHAIN_ID is 5$/m);
  });

  it('may be the adapter of a contract, which POOL_CONTRACTS then names', async () => {
    const POOL_CONTRACTS = bench.settings().POOL_CONTRACTS.replaceAll('=', ':half=');
    await expect(createIndexer(environment({ POOL_CONTRACTS }), logger)).rejects.toThrow(
      /^POOL_CONTRACTS: individual:half=0x[0-9a-f]{40}: no such adapter for this type\. Its names are: (?!.*half)/,
    );
    const app = await createIndexer(environment({ POOL_CONTRACTS }), logger, { modules: [HalfModule] });
    try {
      await bench.deposit(bench.pools[0], 30n);
      await bench.atHead();
      const text = 'SELECT kind, amount, outcome FROM chain_events ORDER BY block_number DESC LIMIT 1';
      expect(await bench.sql(text)).toEqual([{ kind: 'Deposited', amount: '15', outcome: 'APPLIED' }]);
    } finally {
      await app.close();
    }
  });
});
