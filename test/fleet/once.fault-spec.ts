import { randomUUID } from 'node:crypto';
import { TEN } from '../support/app';
import { Fleet, report } from '../support/processes/fleet';
import { newWallet } from '../support/wallet';
import { HttpClient, named, signIn, tally } from './http';

const TIMES = 200;
// A busy machine may answer some of them with 503. They are counted here, and are never a success.

describe('the same request 200 times at once over all replicas', () => {
  let fleet: Fleet;
  let clients: HttpClient[];
  beforeAll(async () => {
    fleet = await Fleet.start({ replicas: 3 });
    clients = fleet.urls.map((url) => new HttpClient(url));
  });
  afterAll(async () => {
    clients?.forEach((client) => client.close());
    await fleet?.stop();
  });

  const everywhere = <T>(send: (client: HttpClient) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: TIMES }, (_, i) => send(clients[i % clients.length])));

  it('creates one pool under one Idempotency-Key', async () => {
    const { token } = await signIn(clients[0]);
    const headers = { 'idempotency-key': randomUUID() };
    const body = { type: 'cooperative', initialDeposit: TEN, members: [newWallet().address] };
    const post = (client: HttpClient) => client.send('/pools', { method: 'POST', token, headers, body });
    const answers = await everywhere(post);
    const counts = tally(answers);
    const created = answers.filter(({ status }) => status === 201);
    report('one Idempotency-Key', {
      'posted at once': TIMES,
      ...named(counts),
      'different bodies of 201': new Set(created.map(({ text }) => text)).size,
      pools: (await fleet.sql('SELECT FROM pools')).length,
    });
    expect((counts[201] ?? 0) + (counts[409] ?? 0) + (counts[503] ?? 0)).toBe(TIMES);
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    const [{ id }] = await fleet.sql<{ id: string }>('SELECT id FROM pools');
    expect(created[0].body.data.id).toBe(id);
    expect(await fleet.sql('SELECT FROM pools')).toHaveLength(1);
    expect(await fleet.sql('SELECT FROM transactions')).toHaveLength(1);
    // Afterwards every replica gives the first answer.
    for (const client of clients) expect((await post(client)).text).toBe(created[0].text);
  });
});
