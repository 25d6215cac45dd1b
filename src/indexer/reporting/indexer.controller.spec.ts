import { APP_FILTER } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Counter, register } from 'prom-client';
import { ErrorFilter } from '#platform/errors/error.filter';
import { HttpSettings } from '#platform/http/http.settings';
import { IndexerController } from './indexer.controller';
import { SyncState } from './sync-state';
import { IndexerTelemetry } from './telemetry';

describe("the indexer's own port", () => {
  const BLOCK = { number: 7, hash: '0x7', parentHash: '0x6', time: 0 };
  const TOKEN = 'a token of the tests';
  let telemetry: IndexerTelemetry;
  let app: NestFastifyApplication;

  async function listen(METRICS_TOKEN?: string): Promise<void> {
    await app?.close();
    const testing = await Test.createTestingModule({
      controllers: [IndexerController],
      providers: [
        IndexerTelemetry,
        { provide: SyncState, useValue: new SyncState(undefined) },
        { provide: HttpSettings, useValue: { METRICS_TOKEN } },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    }).compile();
    app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
    telemetry = app.get(IndexerTelemetry);
    await app.listen(0, '127.0.0.1');
  }
  const get = async (path: string, authorization?: string): Promise<Response> =>
    fetch(`${await app.getUrl()}${path}`, { headers: { ...(authorization && { authorization }) } });

  afterAll(() => app.close());

  it('tells on /health where it stands, and fails while it is halted or cut off', async () => {
    await listen();
    telemetry.role = 'leading';
    const { sync } = telemetry;
    sync.start(BLOCK, 90, []);
    const answer = await get('/health');
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'syncing', cursor: 7, head: 90 }]);
    const begun = performance.now();
    const now = jest.spyOn(performance, 'now').mockReturnValue(begun);
    telemetry.progress.moved(3, 90, 0);
    now.mockReturnValue(begun + 2000);
    telemetry.progress.moved(7, 90, 6);
    const { progress } = (await (await get('/health')).json()) as { progress: unknown };
    expect(progress).toEqual({ blocksPerSecond: 2, eventsPerSecond: 3, secondsLeft: 42 });
    jest.restoreAllMocks();
    telemetry.progress.moved(6, 90, 0);
    telemetry.finalized = 3;
    expect(await (await get('/health')).json()).toEqual({
      status: 'syncing',
      cursor: 7,
      head: 90,
      finalized: 3,
    });
    const health = async (): Promise<unknown[]> => {
      const { status } = await get('/health');
      // A restart repairs nothing of this.
      expect((await get('/health/live')).status).toBe(200);
      return [status, telemetry.state];
    };
    sync.start(BLOCK, 9, []);
    expect(await health()).toEqual([200, 'synced']);
    sync.cutOff();
    expect(await health()).toEqual([503, 'disconnected']);
    sync.progressed(BLOCK);
    expect(await health()).toEqual([200, 'synced']);
    sync.halt();
    expect(await health()).toEqual([503, 'halted']);
    telemetry.role = 'cut_off';
    expect(await health()).toEqual([503, 'disconnected']);
    telemetry.role = 'standby';
    expect(await health()).toEqual([200, 'standby']);
    const unknown = await get('/pools?x=1');
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      { success: false, error: 'Not found', message: 'Not found', code: 'not_found' },
    ]);
  });

  it('gives metrics to everyone, or to who has the token', async () => {
    await listen();
    telemetry.sync.start(BLOCK, 9, []);
    const open = await get('/metrics');
    expect(open.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await open.text();
    expect(text).toMatch(/^indexer_lag_blocks 2$/m);
    expect(text).toMatch(/^indexer_progress_age_seconds \d/m);
    const synced = (): Promise<string> => telemetry.registry.getSingleMetricAsString('indexer_synced');
    telemetry.role = 'leading';
    expect(await synced()).toMatch(/^indexer_synced 1$/m);
    telemetry.sync.cutOff();
    expect(await synced()).toMatch(/^indexer_synced 0$/m);
    await listen(TOKEN);
    for (const wrong of [undefined, `Bearer ${TOKEN}x`, TOKEN, 'Bearer ', `Basic ${TOKEN}`]) {
      const refused = await get('/metrics', wrong);
      expect([refused.status, await refused.text()]).toEqual([
        401,
        '{"success":false,"error":"Invalid token","message":"Invalid token","code":"invalid_token"}',
      ]);
    }
    expect((await get('/metrics', `Bearer ${TOKEN}`)).status).toBe(200);
    expect((await get('/health')).status).toBe(200);
  });

  it('gives the metrics of modules beside its own, and its own where both have the name', async () => {
    new Counter({ name: 'a_module_total', help: 'Of a module' }).inc(3);
    new Counter({ name: 'indexer_gaps_total', help: 'Of a module' }).inc(3);
    await listen();
    const text = await (await get('/metrics')).text();
    // Only these: the metrics of the process are registered once, and later test files need them.
    for (const name of ['a_module_total', 'indexer_gaps_total']) register.removeSingleMetric(name);
    expect(text).toMatch(/^a_module_total 3$/m);
    expect(text.match(/^indexer_gaps_total .*$/gm)).toEqual(['indexer_gaps_total 0']);
  });
});
