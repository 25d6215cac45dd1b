import { type Socket, connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Fleet, report, seconds } from '../support/processes/fleet';
import { eventually } from '../support/processes/processes';
import { type Answer, HttpClient, signIn, slowest, tally } from './http';

/** A connection of a hostile client, and what it received. */
class Hostile {
  received = '';
  closed = false;
  /** ms */
  lifetime = 0;
  private readonly opened = Date.now();
  private constructor(readonly socket: Socket) {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      this.lifetime = Date.now() - this.opened;
    });
  }

  static async connect(port: number): Promise<Hostile> {
    const socket = connect({ port, host: '127.0.0.1' });
    const hostile = new Hostile(socket);
    socket.on('data', (chunk) => (hostile.received += chunk.toString('latin1')));
    await once(socket, 'connect');
    return hostile;
  }

  static many(count: number, port: number): Promise<Hostile[]> {
    return Promise.all(Array.from({ length: count }, () => Hostile.connect(port)));
  }
}

describe('slow and half-open clients', () => {
  let fleet: Fleet;
  let client: HttpClient;
  const all: Hostile[] = [];
  beforeAll(async () => {
    fleet = await Fleet.start({ replicas: 1 });
    client = new HttpClient(fleet.urls[0], 4);
  });
  afterAll(async () => {
    all.forEach(({ socket }) => socket.destroy());
    client?.close();
    await fleet?.stop();
  });

  it('are cut by time limits, while others are served', async () => {
    const { port } = fleet.replicas[0];
    const { token } = await signIn(client);
    const patient = await Hostile.connect(port);
    const get = `GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n`;
    patient.socket.write(get);

    const idle: Hostile[] = [];
    for (let i = 0; i < 2000; i += 200) idle.push(...(await Hostile.many(200, port)));
    const headers = await Hostile.many(100, port);
    const bodies = await Hostile.many(100, port);
    all.push(...idle, ...headers, ...bodies, patient);
    for (const { socket } of headers) socket.write('GET /pools HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    for (const { socket } of bodies)
      socket.write(
        'POST /auth/nonce HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{',
      );
    const dribble = setInterval(() => {
      for (const { socket, closed } of [...headers, ...bodies]) if (!closed) socket.write('x');
    }, 1000);

    const answers: Answer[] = [];
    let stopping = false;
    const others = Promise.all(
      [0, 1, 2, 3].map(async () => {
        while (!stopping) {
          answers.push(await client.send('/pools', { token }));
          await wait(10);
        }
      }),
    );
    try {
      const closed = (sockets: Hostile[]) => (): boolean => sockets.every((each) => each.closed);
      await eventually(closed(idle));
      await eventually(closed(headers));
      await eventually(closed(bodies));
    } finally {
      clearInterval(dribble);
      stopping = true;
      await others;
    }
    const longest = (sockets: Hostile[]): number => Math.max(...sockets.map(({ lifetime }) => lifetime));
    report('slow clients', {
      'idle sockets': idle.length,
      's they lived': seconds(longest(idle)),
      's slow headers lived': seconds(longest(headers)),
      's slow bodies lived': seconds(longest(bodies)),
      'requests of others': answers.length,
      's the longest wait': seconds(slowest(answers)),
    });
    expect(tally(answers)).toEqual({ 200: answers.length });
    expect(answers.length).toBeGreaterThan(0);
    for (const { received } of [...headers, ...bodies]) {
      expect(received).toMatch(/^HTTP\/1\.1 408 /);
      expect(received).toContain(
        '{"success":false,"error":"Request Timeout","message":"Request Timeout","code":"bad_request"}',
      );
    }
    // An idle connection between two requests, as load balancers keep them, is not affected.
    expect(patient.closed).toBe(false);
    patient.socket.write(get);
    await eventually(() => patient.received.split('{"status":"alive"}').length === 3);
  });
});
