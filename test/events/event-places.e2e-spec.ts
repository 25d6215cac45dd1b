import { register } from 'prom-client';
import { createLogger } from '#platform/log/logger';
import { SessionFeed } from '#features/access/session-feed';
import { END_REASONS, type EndReason } from '#extensions/events/event-stream';
import { type SignedIn, linesOfRequests, until, useApp } from '../support/app';
import { EventReader, holdSweeps, holdTerms } from '../support/events/event-source';

const lines: string[] = [];
const sink = { write: (line: string) => void lines.push(line) };
const app = useApp(
  {
    EVENT_STREAMS_PER_USER: '2',
    EVENT_STREAMS_PER_ADDRESS: '3',
    EVENT_STREAMS_PER_PROCESS: '5',
    TRUST_PROXY: '127.0.0.1',
  },
  { logger: createLogger('info', false, sink) },
);
const users: SignedIn[] = [];
const open: EventReader[] = [];

beforeAll(async () => {
  await app.listen();
  for (let i = 0; i < 4; i++) users.push(await app.signIn());
});
beforeEach(() => {
  holdSweeps();
  holdTerms();
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const reader of open.splice(0)) reader.close();
  await until(async () => (await metric('event_streams_open')) === 0);
  lines.length = 0;
});

async function follow(user: SignedIn, ip: string): Promise<EventReader> {
  const headers = { authorization: `Bearer ${user.token}`, 'x-forwarded-for': ip };
  const reader = await new EventReader().open(app.port!, '/events', headers);
  open.push(reader);
  if (reader.status !== 200) await until(() => reader.ended);
  return reader;
}
async function metric(series: string): Promise<number> {
  const text = await register.metrics();
  return Number(new RegExp(`^${series.replace(/[{}]/g, '\\$&')} (.*)$`, 'm').exec(text)?.[1]);
}
const answerOf = ({ status, body, headers }: EventReader): unknown[] => [
  status,
  status === 200 ? undefined : (JSON.parse(body) as { code: string }).code,
  headers['retry-after'],
];
const OPENED = [200, undefined, undefined];
const FULL_ADDRESS = [429, 'too_many_connections', '1'];
const FULL_PROCESS = [503, 'busy', '1'];

it('an address has so many, as the rate limits see it, and others from it wait for a place', async () => {
  const [a, b, c] = users;
  expect(answerOf(await follow(a, '203.0.113.1'))).toEqual(OPENED);
  expect(answerOf(await follow(a, '203.0.113.1'))).toEqual(OPENED);
  expect(answerOf(await follow(b, '203.0.113.1'))).toEqual(OPENED);
  // What a client writes into the header itself does not count.
  for (const ip of ['203.0.113.1', '198.51.100.7, 203.0.113.1', '::ffff:203.0.113.1'])
    expect(answerOf(await follow(c, ip))).toEqual(FULL_ADDRESS);
  expect(answerOf(await follow(c, '203.0.113.2'))).toEqual(OPENED);
  open[2].close();
  await until(async () => (await follow(c, '203.0.113.1')).status === 200);
});

it('a process has so many, says so with 503, and counts those that are open', async () => {
  const [a, b, c, d] = users;
  for (const [n, user] of [a, a, b, b, c].entries())
    expect(answerOf(await follow(user, `203.0.113.${n}`))).toEqual(OPENED);
  expect(await metric('event_streams_open')).toBe(5);
  expect(answerOf(await follow(d, '203.0.113.9'))).toEqual(FULL_PROCESS);
  // His own limits are told first: waiting would not help him.
  expect(answerOf(await follow(a, '203.0.113.9'))).toEqual(FULL_ADDRESS);
  expect(await metric('event_streams_open')).toBe(5);
  open[0].close();
  await until(async () => (await follow(d, '203.0.113.9')).status === 200);
});

describe('a stream that has ended is logged once, and counted by why:', () => {
  const ended = (): Record<string, unknown>[] =>
    linesOfRequests(lines).filter(({ route, status }) => route === '/events' && status === undefined);

  const cases: [EndReason, (reader: EventReader, user: SignedIn) => unknown][] = [
    ['client_left', (reader) => reader.close()],
    ['session_ended', (_, user) => app.post('/auth/logout', undefined, user)],
    [
      'sessions_unknown',
      () => {
        jest.restoreAllMocks();
        app.nest.get(SessionFeed, { strict: false }).term++;
      },
    ],
  ];
  it.each(cases)('%s', async (reason, end) => {
    const user = await app.signIn();
    const series = `event_streams_ended_total{reason="${reason}"}`;
    const before = await metric(series);
    const reader = await follow(user, '203.0.113.50');
    lines.length = 0;
    await end(reader, user);
    await until(() => ended().length > 0);
    expect(ended()).toEqual([
      expect.objectContaining({
        msg: 'event stream ended',
        level: 'info',
        method: 'GET',
        path: '/events',
        ip: '203.0.113.50',
        address: user.address,
        reason,
        ms: expect.any(Number) as number,
      }),
    ]);
    expect(await metric(series)).toBe(before + 1);
    // It is not measured as a request, whose duration would be that of the stream.
    expect(
      linesOfRequests(lines).filter(({ msg, route }) => msg === 'request' && route === '/events'),
    ).toEqual([]);
    expect(await register.metrics()).not.toMatch(
      /http_request_duration_seconds.*route="\/events",status="200"/,
    );
  });

  it('every reason is shown from the start', async () => {
    for (const reason of END_REASONS)
      expect(await metric(`event_streams_ended_total{reason="${reason}"}`)).toBeGreaterThanOrEqual(0);
  });
});
