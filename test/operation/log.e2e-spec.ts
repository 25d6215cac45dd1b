import { Database } from '#platform/database/database';
import { createLogger } from '#platform/log/logger';
import { DatabaseUnavailable } from '#platform/postgres/unavailable';
import { drain } from '#api/shutdown';
import { TestApp, linesOfRequests, until } from '../support/app';
import { newWallet, siweMessage } from '../support/wallet';

describe('the log', () => {
  const app = new TestApp();
  const lines: string[] = [];
  const sink = { write: (line: string) => void lines.push(line) };
  beforeAll(() => app.start({}, createLogger('trace', false, sink)));
  afterAll(() => app.stop());

  it('names requests by id, and never contains a token, signature or nonce', async () => {
    const before = lines.length;
    const wallet = newWallet();
    const address = wallet.address.toLowerCase();
    const nonce = await app.nonce(wallet.address);
    const message = siweMessage({ address: wallet.address, nonce });
    const signature = await wallet.signMessage({ message });
    const wrong = await newWallet().signMessage({ message });
    await app.post('/auth/verify', { message, signature: wrong }, undefined, {
      'x-request-id': 'the-refused-one',
    });
    const { token } = (await app.post('/auth/verify', { message, signature })).body as { token: string };
    await app.get(`/pools?token=${token}`, { token });
    await app.get('/pools/nonsense', { token });
    await app.sql('ALTER TABLE nonces RENAME TO elsewhere');
    expect((await app.post('/auth/verify', { message, signature }, { token })).status).toBe(500);
    expect((await app.get('/auth/nonce')).status).toBe(500);
    await app.sql('ALTER TABLE elsewhere RENAME TO nonces');

    const log = lines.slice(before).join('');
    for (const secret of [nonce, signature, wrong, token, token.split('.')[2]])
      expect(log).not.toContain(secret);
    const entries = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const refused = entries.filter((entry) => entry.reqId === 'the-refused-one');
    expect(refused).toEqual([
      expect.objectContaining({ level: 'info', msg: 'sign-in refused', reason: 'signature', address }),
      expect.objectContaining({ msg: 'request', method: 'POST', path: '/auth/verify', status: 401 }),
    ]);
    // Refused sign-ins only claimed an address.
    expect(refused[1]).not.toHaveProperty('address');
    expect(entries).toContainEqual(
      expect.objectContaining({ msg: 'signed in', address, reqId: expect.any(String) }),
    );
    const requests = entries.filter(({ msg }) => msg === 'request');
    expect(requests.every(({ reqId, route, ms }) => reqId && route && typeof ms === 'number')).toBe(true);
    const errors = entries.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(2);
    expect(errors.every(({ reqId }) => typeof reqId === 'string')).toBe(true);
  });

  it('names the caller in lines of requests and of signing out, but not in those of refused requests', async () => {
    const user = await app.signIn();
    const before = lines.length;
    await app.get('/pools', user);
    await app.post('/auth/logout', {}, user);
    await app.get('/pools', user);
    await app.get('/pools');
    const entries = linesOfRequests(lines.slice(before));
    expect(entries.map(({ msg, status, address }) => [msg, status, address])).toEqual([
      ['request', 200, user.address],
      ['signed out', undefined, user.address],
      ['request', 200, user.address],
      ['request', 401, undefined],
      ['request', 401, undefined],
    ]);
    expect(lines.slice(before).join('')).not.toContain(user.token.split('.')[2]);
  });

  it('of probes is for who looks for it, and that of a long path is short', async () => {
    const before = lines.length;
    for (const path of ['/health', '/health/live', '/health/ready', '/metrics', '/config'])
      await app.get(path);
    await app.get(`/pools/${'x'.repeat(8000)}`);
    const requests = linesOfRequests(lines.slice(before)).filter(({ msg }) => msg === 'request');
    expect(requests.map(({ level }) => level)).toEqual([...Array<string>(4).fill('debug'), 'info', 'info']);
    expect(Math.max(...lines.slice(before).map(({ length }) => length))).toBeLessThan(700);
  });

  it('tells an outage in few lines, and how many requests more it was', async () => {
    const database = app.nest.get(Database);
    const read = jest.spyOn(database, 'read').mockRejectedValue(new DatabaseUnavailable('out'));
    const before = lines.length;
    const errors = () =>
      lines
        .slice(before)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ level }) => level === 'error');
    const answers = await Promise.all(Array.from({ length: 20 }, () => app.get('/config')));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(503));
    expect(errors()[0]).toMatchObject({ code: 'unavailable', err: { stack: expect.any(String) } });
    // However long the requests took, each is counted once.
    const counted = () => errors().reduce((sum, { leftOut }) => sum + Number(leftOut ?? 1), 0);
    await until(() => counted() === 20);
    expect(errors().length).toBeLessThan(20);
    expect(errors().find(({ leftOut }) => leftOut)?.msg).toMatch(/^Service unavailable, \d+ times more$/);
    read.mockRestore();
  });

  it('takes no address from an invalid message', async () => {
    const before = lines.length;
    for (const message of ['x\ns3cret-line\n', 'x', 7, `x\n0x${'1'.repeat(40)}${'s3cret'.repeat(2000)}`])
      await app.post('/auth/verify', { message, signature: '0x' });
    expect(lines.slice(before).join('')).not.toMatch(/s3cret|"address"/);
  });

  it('of an error has the fields that help to find it, and no others', () => {
    const before = lines.length;
    const logger = createLogger('info', false, sink);
    const error = Object.assign(new Error('broken'), {
      code: '23505',
      parameters: ['s3cret'],
      detail: 's3cret',
    });
    logger.error({ err: error }, 'failed');
    expect(JSON.parse(lines.slice(before).join(''))).toMatchObject({
      level: 'error',
      msg: 'failed',
      err: { message: 'broken', code: '23505', stack: expect.any(String) },
    });
    expect(lines.slice(before).join('')).not.toContain('s3cret');
  });

  it('of an error is short, whatever the error holds', () => {
    const before = lines.length;
    createLogger('info', false, sink).error({ err: new Error('x'.repeat(1e6)) }, 'failed');
    expect(lines[before].length).toBeLessThan(10_000);
  });

  // The last one: nothing is served after it.
  it('has no errors while the process drains', async () => {
    const before = lines.length;
    const drained = drain(app.nest, 500);
    jest.spyOn(app.nest.get(Database), 'read').mockRejectedValue(new DatabaseUnavailable('ended'));
    for (const path of ['/health/ready', '/config']) expect((await app.get(path)).status).toBe(503);
    await drained;
    const levels = lines.slice(before).map((line) => (JSON.parse(line) as { level: string }).level);
    expect(levels).toContain('warn');
    expect(levels).not.toContain('error');
  });
});
