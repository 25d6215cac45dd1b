import { createHmac } from 'node:crypto';
import { JWT_SECRET, type SignedIn, useApp } from '../support/app';
import { report } from '../support/processes/fleet';
import { type MessageFields, newWallet, siweMessage } from '../support/wallet';
import { named, tally } from './http';

/** Only the date is faked: connections and time limits need real clocks. */
const REAL = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;
const SECOND = 1000;
const DAY = 86_400 * SECOND;
/** A whole second, so that a token's times can equal it. */
const NOON = Date.parse('2031-05-06T12:00:00.000Z');

const clock = (ms: number): unknown => jest.setSystemTime(ms);
const iso = (ms: number): string => new Date(ms).toISOString();
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('times at their boundaries', () => {
  const app = useApp();
  const wallet = newWallet();
  const answers: { status: number }[] = [];
  let user: SignedIn;

  beforeAll(async () => {
    jest.useFakeTimers({ now: NOON, doNotFake: [...REAL] });
    user = await app.signIn(wallet);
  });
  beforeEach(() => void clock(NOON));
  afterAll(() => {
    jest.useRealTimers();
    report('times at their boundaries', { requests: answers.length, ...named(tally(answers)) });
  });

  const token = (times: Record<string, unknown>): string => {
    const claims = { userId: user.user.id, address: user.address, ...times };
    const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
    return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`;
  };
  const counted = async (request: Promise<{ status: number }>): Promise<number> => {
    const answer = await request;
    answers.push(answer);
    return answer.status;
  };
  const use = (bearer: string): Promise<number> => counted(app.get('/auth/me', { token: bearer }));
  const signIn = async (fields: Partial<MessageFields>, nonce?: string): Promise<number> => {
    const message = siweMessage({
      address: wallet.address,
      nonce: nonce ?? (await app.nonce(wallet.address)),
      ...fields,
    });
    const signature = await wallet.signMessage({ message });
    return counted(app.post('/auth/verify', { message, signature }));
  };

  it.each([
    ['exp equal to now', { exp: NOON / SECOND }, 401],
    ['exp one second ago', { exp: NOON / SECOND - 1 }, 401],
    ['exp in one second', { exp: NOON / SECOND + 1 }, 200],
    ['exp as a fraction just past', { exp: NOON / SECOND - 0.001 }, 401],
    ['nbf equal to now', { exp: NOON / SECOND + 60, nbf: NOON / SECOND }, 200],
    ['nbf in one second', { exp: NOON / SECOND + 60, nbf: NOON / SECOND + 1 }, 401],
    ['iat in the future, of a replica whose clock is ahead', { exp: NOON, iat: NOON / SECOND + 300 }, 200],
  ])('token: %s', async (_, times, status) => expect(await use(token(times))).toBe(status));

  it('token: expires to the second, even at a replica that has seen it before', async () => {
    const bearer = token({ exp: NOON / SECOND + 10 });
    expect(await use(bearer)).toBe(200);
    clock(NOON + 10 * SECOND - 1);
    expect(await use(bearer)).toBe(200);
    clock(NOON + 10 * SECOND);
    expect(await use(bearer)).toBe(401);
    expect(await use(token({ exp: NOON / SECOND + 10 }))).toBe(401);
  });

  it('token: lives for seven days', async () => {
    clock(NOON + 7 * DAY - 1);
    expect(await use(user.token)).toBe(200);
    clock(NOON + 7 * DAY);
    expect(await use(user.token)).toBe(401);
  });

  it.each<[string, Partial<MessageFields>, number]>([
    ['expired by one second', { expirationTime: iso(NOON - SECOND) }, 401],
    ['expires now', { expirationTime: iso(NOON) }, 401],
    ['expires in a millisecond', { expirationTime: iso(NOON + 1) }, 200],
    ['expired by one second in another time zone', { expirationTime: '2031-05-06T13:59:59.000+02:00' }, 401],
    ['expires in one second in another time zone', { expirationTime: '2031-05-06T14:00:01.000+02:00' }, 200],
    ['not before now', { notBefore: iso(NOON) }, 200],
    ['not before one second ahead', { notBefore: iso(NOON + SECOND) }, 401],
    ['not before a millisecond ahead', { notBefore: iso(NOON + 1) }, 401],
    ['a window of one millisecond', { notBefore: iso(NOON), expirationTime: iso(NOON + 1) }, 200],
    ['an empty window', { notBefore: iso(NOON), expirationTime: iso(NOON) }, 401],
    ['issued by a wallet whose clock is ahead', { issuedAt: iso(NOON + 300 * SECOND) }, 200],
  ])('sign-in: %s', async (_, fields, status) => expect(await signIn(fields)).toBe(status));

  it.each([-3600, 3600])('nonce: the clock of a replica that is %d s off is not asked', async (seconds) => {
    clock(NOON + seconds * SECOND);
    expect(await signIn({})).toBe(200);
  });

  it('nonce: ends by the clock of the database', async () => {
    const nonce = await app.nonce(wallet.address);
    await app.sql('UPDATE nonces SET expires_at = now() WHERE nonce = $1', [nonce]);
    expect(await signIn({}, nonce)).toBe(401);
    await app.sql(`UPDATE nonces SET expires_at = now() + interval '10 seconds' WHERE nonce = $1`, [nonce]);
    expect(await signIn({}, nonce)).toBe(200);
  });
});
