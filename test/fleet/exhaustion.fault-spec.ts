import { setTimeout as wait } from 'node:timers/promises';
import { TEN } from '../support/app';
import { Fleet, report, seconds } from '../support/processes/fleet';
import { eventually } from '../support/processes/processes';
import { type Answer, type Caller, HttpClient, signIn, slowest, tally } from './http';

const POOL_SIZE = 4;
/** Half of the connections are for writes. */
const WRITING = POOL_SIZE / 2;

describe('connection pool exhausted by slow statements', () => {
  let fleet: Fleet;
  let clients: HttpClient[];
  let caller: Caller;
  beforeAll(async () => {
    fleet = await Fleet.start({ settings: { DATABASE_POOL_SIZE: `${POOL_SIZE}` } });
    clients = fleet.urls.map((url) => new HttpClient(url));
    caller = await signIn(clients[0]);
  });
  afterAll(async () => {
    clients?.forEach((client) => client.close());
    await fleet?.stop();
  });

  const deposits = (count: number): Promise<Answer>[] => {
    const body = { type: 'individual', initialDeposit: TEN };
    return Array.from({ length: count }, (_, i) =>
      clients[i % clients.length].send('/pools', { method: 'POST', body, token: caller.token }),
    );
  };

  it('answers 503 while they last, opens no further connections, recovers by itself', async () => {
    const answers: Answer[] = [];
    let mostConnections = 0;
    await fleet.whileLocked('pools', async () => {
      const pending = deposits(200);
      let done = false;
      const watching = (async () => {
        // Looking without a pause would itself load the server.
        for (; !done; await wait(20)) mostConnections = Math.max(mostConnections, await fleet.connections());
      })();
      await eventually(async () => (await fleet.waiting()) === WRITING * fleet.replicas.length);
      // Liveness, and requests without the database, are answered meanwhile.
      for (const client of clients) {
        expect((await client.send('/health/live')).status).toBe(200);
        expect((await client.send('/pools')).status).toBe(401);
        // Nor are requests that read other tables.
        expect((await client.send('/lottery/winners', { token: caller.token })).status).toBe(200);
      }
      answers.push(...(await Promise.all(pending)));
      // Later requests do not queue behind the first ones.
      answers.push(...(await Promise.all(deposits(100))));
      done = true;
      await watching;
      // The lock timeout cancels them in the server too: none continues without its client.
      await eventually(async () => (await fleet.waiting()) === 0);
    });
    const released = Date.now();
    const after = await Promise.all(deposits(100));
    const recovery = Date.now() - released;
    report('connection pool exhausted', {
      requests: answers.length,
      'refused with 503': tally(answers)[503] ?? 0,
      's the longest wait': seconds(slowest(answers)),
      'connections at most': mostConnections,
      's for 100 requests afterwards': seconds(recovery),
    });
    expect(tally(answers)).toEqual({ 503: answers.length });
    expect(answers.every(({ headers }) => headers['retry-after'] === '1')).toBe(true);
    expect(mostConnections).toBeLessThanOrEqual(POOL_SIZE * fleet.replicas.length);
    expect(tally(after)).toEqual({ 201: 100 });
    // Refused requests had no effect.
    expect(await fleet.sql('SELECT FROM pools')).toHaveLength(100);
    for (const client of clients)
      await eventually(async () => {
        const { busy, waiting } = await client.databaseConnections();
        return busy === 0 && waiting === 0;
      });
  });
});
