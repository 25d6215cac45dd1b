import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { IndexerTelemetry } from './telemetry';

describe("the indexer's own port", () => {
  const BLOCK = { number: 7, hash: '0x7', parentHash: '0x6', time: 0 };
  const TOKEN = 'a token of the tests';
  let telemetry: IndexerTelemetry;
  let server: Server;

  async function listen(METRICS_TOKEN?: string): Promise<void> {
    server = await telemetry.listen({ INDEXER_PORT: 0, HOST: '127.0.0.1', METRICS_TOKEN });
  }
  const get = (path: string, authorization?: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
      headers: { ...(authorization && { authorization }) },
    });

  beforeEach(() => (telemetry = new IndexerTelemetry()));
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('tells on /health where it stands, and fails while it is halted or cut off', async () => {
    await listen();
    telemetry.role = 'leading';
    const { sync } = telemetry;
    sync.start(BLOCK, 90, []);
    const answer = await get('/health');
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'syncing', cursor: 7, head: 90 }]);
    const health = async (): Promise<unknown[]> => {
      const { status } = await get('/health');
      // A restart mends nothing of this.
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
    expect((await get('/')).status).toBe(404);
  });

  it('gives metrics to everyone, or to who has the token', async () => {
    await listen();
    telemetry.sync.start(BLOCK, 9, []);
    const open = await get('/metrics');
    expect(open.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await open.text()).toMatch(/^indexer_lag_blocks 2$/m);
    server.closeAllConnections();
    server.close();
    await listen(TOKEN);
    for (const wrong of [undefined, `Bearer ${TOKEN}x`, TOKEN, 'Bearer ', `Basic ${TOKEN}`]) {
      const refused = await get('/metrics', wrong);
      expect([refused.status, await refused.text()]).toEqual([
        401,
        '{"success":false,"error":"Invalid token"}',
      ]);
    }
    expect((await get('/metrics', `Bearer ${TOKEN}`)).status).toBe(200);
    expect((await get('/health')).status).toBe(200);
  });
});
