import type { ServerResponse } from 'node:http';
import { MAX_VALUES } from '#platform/validation/validation.pipe';
import { type LedgerEvent, TOPICS } from '#ledger/outbox/ledger-event';
import type { Session } from '#features/access/current-user';
import { AuthService } from '#features/auth/auth.service';
import { scanSiweMessage } from '#features/auth/siwe';
import { EventBatch } from '#extensions/events/event-batch';
import { EventHub } from '#extensions/events/event-hub';
import { EventStream } from '#extensions/events/event-stream';
import { TEN, type Response, type SignedIn, until, useApp } from '../support/app';
import { addTransaction } from '../support/ledger';
import { holdSweeps } from '../support/events/event-source';
import { readable } from '../support/events/outbox';
import { newWallet, siweMessage } from '../support/wallet';

const app = useApp();
let user: SignedIn;
let pool: string;

beforeAll(async () => {
  user = await app.signIn();
  pool = ((await app.createPool(user)) as { id: string }).id;
});

/** Counts the turns of the event loop. */
function countTurns(): { turn: number; end: () => void } {
  const counted = { turn: 0, end: () => clearImmediate(next) };
  let next = setImmediate(function count() {
    counted.turn++;
    next = setImmediate(count);
  });
  return counted;
}

/** Nothing that a client sends may keep the process busy for long, so its size is limited before the costly part. */
describe('the work for one request is bounded:', () => {
  const refusal = (field: string): unknown => [
    400,
    [{ field, message: `must hold at most ${MAX_VALUES} values` }],
  ];
  const answer = ({ status, body }: Response): unknown => [status, body.details];
  const valid = { type: 'rotating', initialDeposit: TEN };

  const shapes: [string, object][] = [
    ['texts in a list', { members: Array<string>(MAX_VALUES).fill('x') }],
    ['numbers', { members: Array<number>(30_000).fill(1) }],
    ['values at some depth', { members: [[Array<number>(MAX_VALUES).fill(1)]] }],
    ['unknown fields', Object.fromEntries(Array.from({ length: MAX_VALUES }, (_, i) => [`k${i}`, {}]))],
  ];
  it.each(shapes)('a body of many %s is refused as it is', async (_, fields) => {
    for (const url of ['/pools', '/webhooks', '/auth/nonce'])
      expect(answer(await app.post(url, { ...valid, ...fields }, user))).toEqual(refusal('body'));
  });

  it('a list alone too', async () => {
    expect(answer(await app.post('/pools', Array(MAX_VALUES + 1).fill({}), user))).toEqual(refusal('body'));
  });

  it('all addresses that fit into a body are read', async () => {
    const body = { ...valid, members: Array<string>(1450).fill(newWallet().address) };
    expect((await app.post('/pools', body, user)).status).toBe(201);
  });

  it('a parameter that is repeated without end is refused', async () => {
    const query = Array<string>(MAX_VALUES + 1)
      .fill('_=1')
      .join('&');
    for (const url of ['/pools', '/transactions'])
      expect(answer(await app.get(`${url}?${query}`, user))).toEqual(refusal('query'));
  });

  it('a message with a long first line is not parsed', () => {
    const message = (length: number): string => {
      const fields = { address: user.wallet.address, nonce: 'abcdefgh1234' };
      const rest = siweMessage({ ...fields, domain: '' }).indexOf('\n');
      return siweMessage({ ...fields, domain: 'a.'.repeat(length).slice(0, length - rest) });
    };
    expect(scanSiweMessage(message(512))).toMatchObject({ nonce: 'abcdefgh1234' });
    expect(scanSiweMessage(message(513))).toBeUndefined();
  });
});

it('the process turns to other work between one long sign-in and the next', async () => {
  const SIGN_INS = 12;
  const nonces = await Promise.all(Array.from({ length: SIGN_INS }, () => app.nonce()));
  const bodies = await Promise.all(
    nonces.map(async (nonce) => {
      const message = siweMessage({ address: user.wallet.address, nonce });
      return { message, signature: await user.wallet.signMessage({ message }) };
    }),
  );
  const turns: number[] = [];
  const counted = countTurns();
  const service = app.nest.get<AuthService, Record<'parse', () => unknown>>(AuthService, { strict: false });
  const parse = service.parse.bind(service);
  const parsing = jest.spyOn(service, 'parse').mockImplementation((...args) => {
    turns.push(counted.turn);
    // As long as the most costly message.
    const end = performance.now() + 15;
    while (performance.now() < end);
    return parse(...args);
  });
  try {
    const answers = await Promise.all(bodies.map((body) => app.post('/auth/verify', body)));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    expect(new Set(turns).size).toBe(SIGN_INS);
  } finally {
    counted.end();
    parsing.mockRestore();
  }
});

describe('the work for many listeners is divided:', () => {
  const session = (): Session => ({
    userId: user.user.id,
    address: user.address,
    exp: Date.now(),
    generation: 0,
    sessionId: user.user.id,
  });

  it('an event is written out once for all receivers', () => {
    let times = 0;
    const events = ['1', '2', '3'].map((id) => ({
      ...{ id, topic: 'deposit.confirmed', poolId: pool },
      toJSON: () => (times++, { id }),
    })) as unknown as LedgerEvent[];
    const listeners = Array.from({ length: 1000 }, () => newWallet().address);
    const batch = new EventBatch(events, new Map([[pool, new Set(listeners)]]));
    for (const address of listeners) expect(batch.textFor(address, new Set(TOPICS), '1')).toMatch(/^id: 2\n/);
    expect(batch.textFor('0x', new Set(TOPICS), '')).toBe('');
    // The first one is for nobody.
    expect(times).toBe(2);
  });

  it('events for all and for some keep their order', () => {
    const topics = ['deposit.confirmed', 'draw.opened', 'deposit.confirmed', 'draw.closed'];
    const events = topics.map((topic, i) => ({
      id: `${i}`,
      topic,
      poolId: pool,
    })) as unknown as LedgerEvent[];
    const batch = new EventBatch(events, new Map([[pool, new Set(['0x1'])]]));
    const ids = (address: string): string[] =>
      [...batch.textFor(address, new Set(TOPICS), '').matchAll(/^id: (.)/gm)].map(([, id]) => id);
    expect([ids('0x1'), ids('0x2')]).toEqual([['0', '1', '2', '3'], ['1', '3']]); // prettier-ignore
  });

  it('the process turns to other work between some and the next', async () => {
    holdSweeps();
    const hub = app.nest.get(EventHub, { strict: false });
    // A stream begins after what can be read when it opens.
    await readable(app);
    const { cursor, present } = await hub.locate(undefined);
    const writes = new Map<number, number>();
    const counted = countTurns();
    const write = (text: string): void => {
      if (text.startsWith('id: ')) writes.set(counted.turn, (writes.get(counted.turn) ?? 0) + 1);
    };
    const response = { write, end: () => undefined } as unknown as ServerResponse;
    const streams = Array.from(
      { length: 200 },
      () => new EventStream(session(), new Set(TOPICS), response, cursor),
    );
    const leave = streams.map((stream) => hub.add(stream, present));
    try {
      await until(() => streams.every(({ isConfirmed }) => isConfirmed));
      await addTransaction(app, { poolId: pool, account: user.address });
      const total = (): number => [...writes.values()].reduce((sum, each) => sum + each, 0);
      await until(() => total() >= streams.length);
      expect(total()).toBe(streams.length);
      expect(Math.max(...writes.values())).toBeLessThanOrEqual(50);
    } finally {
      counted.end();
      for (const each of leave) each();
      jest.restoreAllMocks();
    }
  });
});
