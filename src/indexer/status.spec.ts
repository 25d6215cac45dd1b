import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Status } from './status';

describe("the indexer's own port", () => {
  const TOKEN = 'a token of the tests';
  let status: Status;
  let server: Server;

  async function listen(METRICS_TOKEN?: string): Promise<void> {
    server = await status.listen({ INDEXER_PORT: 0, HOST: '127.0.0.1', METRICS_TOKEN });
  }
  const get = (path: string, authorization?: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
      headers: { ...(authorization && { authorization }) },
    });

  beforeEach(() => (status = new Status()));
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('tells on /health where it stands, and fails while it is halted or cut off', async () => {
    await listen();
    status.state = 'syncing';
    status.applied({ number: 7, time: 0 }, 9, 64, []);
    const answer = await get('/health');
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'syncing', cursor: 7, head: 9 }]);
    for (const [state, code] of [
      ['standby', 200],
      ['synced', 200],
      ['halted', 503],
      ['disconnected', 503],
    ] as const) {
      status.state = state;
      expect((await get('/health')).status).toBe(code);
      // A restart mends neither.
      expect((await get('/health/live')).status).toBe(200);
    }
    expect((await get('/')).status).toBe(404);
  });

  it('gives metrics to everyone, or to who has the token', async () => {
    await listen();
    status.applied({ number: 7, time: 0 }, 9, 64, []);
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
