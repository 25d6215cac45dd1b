import { All, BadRequestException, ConflictException, Controller, Module, Param } from '@nestjs/common';
import { ThrottlerException } from '@nestjs/throttler';
import { JwtService } from '@nestjs/jwt';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { Writable } from 'node:stream';
import { ERROR_CODES, ERRORS, type ErrorCode } from '#platform/errors/error-codes';
import { ApiError } from '#platform/errors/errors';
import { createLogger } from '#platform/log/logger';
import { DatabaseUnavailable, OutcomeUnknown } from '#platform/postgres/unavailable';
import { Public } from '#features/access/auth.guard';
import { JWT_SECRET, type Request, type Response, type SignedIn, TEN, TestApp, until } from '../support/app';
import { addCircle, forgetCircles, knowCircles } from '../support/circles/known-circles';
import { type DrawFields, LAST_BLOCK, addDraw, knowLottery } from '../support/chain/draws';
import { EventReader } from '../support/events/event-source';
import { addTransaction, newHash } from '../support/ledger';
import { newWallet, siweMessage } from '../support/wallet';

const UNKNOWN_ID = '01890000-0000-7000-8000-000000000000';

/** What modules throw, and no endpoint of the service. */
@Controller('throwing')
@Public()
class ThrowingController {
  @All(':what')
  throwing(@Param('what') what: string): never {
    if (what === 'conflict') throw new ConflictException('There is one');
    if (what === 'bad_request') throw new BadRequestException('Not so');
    if (what === 'rate_limited') throw new ThrottlerException();
    if (what === 'unavailable') throw new DatabaseUnavailable('connection lost');
    if (what === 'outcome_unknown') throw new OutcomeUnknown('connection lost');
    if (what === 'unauthorized') throw new ApiError(401, 'Not you');
    throw new Error('a fault');
  }
}

@Module({ controllers: [ThrowingController] })
class ThrowingModule {}

const lines: string[] = [];
const sink = new Writable({
  write(chunk: Buffer, _encoding, done) {
    lines.push(chunk.toString());
    done();
  },
});

const app = new TestApp();
let user: SignedIn;
let poolId: string;
/** A chain that takes connections and never answers. */
const chain = createServer((socket) => void opened.push(socket));
const opened: Socket[] = [];
let clients = 0;

beforeAll(async () => {
  await once(chain.listen(0, '127.0.0.1'), 'listening');
  const settings = {
    RATE_LIMIT_GENERAL: '100',
    RATE_LIMIT_AUTH: '60',
    EVENT_STREAMS_PER_USER: '1',
    SIWE_DOMAINS: 'app.example.org',
    RPC_URL: `http://127.0.0.1:${(chain.address() as AddressInfo).port}`,
  };
  const logger = createLogger('info', false, sink);
  await app.start(settings, logger, undefined, { modules: [ThrowingModule] });
  user = await app.signIn(newWallet());
  poolId = (await app.createPool(user)).id as string;
});
afterAll(async () => {
  await app.stop();
  opened.forEach((socket) => socket.destroy());
  chain.close();
});

/** As a client of its own. */
const send = (url: string, request: Omit<Request, 'url'> = {}): Promise<Response> =>
  app.send({ url, ip: `203.0.113.${++clients}`, ...request });
const post = (url: string, body: unknown, request: Omit<Request, 'url'> = {}): Promise<Response> =>
  send(url, { method: 'POST', body, ...request });
const thrown = async (what: string, method: 'GET' | 'POST' = 'GET'): Promise<Response> => {
  // Not by the check of the document, which does not have it.
  const answer = await app.nest.inject({
    method,
    url: `/throwing/${what}`,
    remoteAddress: `203.0.113.${++clients}`,
  });
  return { status: answer.statusCode, body: answer.json(), headers: {}, text: answer.payload, ms: 0 };
};
const create = (fields: object, headers: Record<string, string> = {}): Promise<Response> =>
  post('/pools', { type: 'individual', initialDeposit: TEN, ...fields }, { as: user, headers });
const last = async (times: number, request: () => Promise<Response>): Promise<Response> => {
  for (let i = 1; i < times; i++) await request();
  return request();
};
const webhook = async (): Promise<string> => {
  const { body } = await post('/webhooks', { url: 'https://webhooks.example' }, { as: user });
  return (body.data as { id: string }).id;
};
const signIn = async (): Promise<Response> => {
  const { address } = newWallet();
  const message = siweMessage({ address, nonce: await app.nonce(address) });
  return post('/auth/verify', { message, signature: `0x${'11'.repeat(65)}` });
};
const token = (claims: object, expiresIn: number, secret = JWT_SECRET): { token: string } => ({
  token: new JwtService({ secret }).sign(
    { userId: user.user.id, address: user.address, ...claims },
    { expiresIn },
  ),
});

/** Asks for a call of a draw that is like this. */
const callOf = async (call: string, fields: DrawFields): Promise<Response> => {
  await knowLottery(app);
  await addDraw(app, 7, fields);
  const answer = await send(`/lottery/calls/${call}?drawId=7`, { as: user });
  await app.sql(
    'DELETE FROM lottery_draws; DELETE FROM chain_facts; DELETE FROM chain_cursor; DELETE FROM chain_contracts',
  );
  return answer;
};
/** Asks something of a pool that has a circle like this. */
const ofCircle = async (path: string, fields?: Parameters<typeof addCircle>[3]): Promise<Response> => {
  const { id } = (await create({ type: 'rotating' })).body.data as { id: string };
  await knowCircles(app);
  if (fields) await addCircle(app, id, user.address, fields);
  const answer = await send(`/pools/${id}/${path}`, { as: user });
  await forgetCircles(app);
  return answer;
};
const TERMS = `contribution=100&period=3600&joinBy=2026-03-02T00:00:00Z&members=0x${'0a'.repeat(20)},0x${'0b'.repeat(20)}`;
/** While the indexer has read and applied all blocks. */
async function atHead(work: () => Promise<Response>): Promise<Response> {
  await app.sql(`INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time,
    applied_number, state, beat_at) VALUES (1, '', 0, '', now(), 0, 'synced', now())`);
  let isDone = false;
  const answer = work().finally(() => (isDone = true));
  // It looks at the head again and again.
  await until(async () => (await app.sql('UPDATE chain_cursor SET progress_at = now()'), isDone));
  await app.sql('DELETE FROM chain_cursor');
  return answer;
}

const PRODUCERS: Record<ErrorCode, () => Promise<Response>> = {
  calls_unknown: async () => {
    await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, pools_by)
      SELECT type, contract_address, 0, 0, 'number' FROM pools LIMIT 1`);
    const answer = await send(`/pools/${poolId}/calls/claim`, { as: user });
    await app.sql('DELETE FROM chain_contracts');
    return answer;
  },
  pool_exists: async () => {
    await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, pools_by)
      SELECT type, contract_address, 0, 0, 'account' FROM pools WHERE id = '${poolId}'`);
    const { type } = (await send(`/pools/${poolId}`, { as: user })).body.data as { type: string };
    const answer = await create({ type });
    await app.sql('DELETE FROM chain_contracts');
    return answer;
  },
  validation_failed: () => create({ type: 'none' }),
  invalid_json: () => post('/pools', '{', { as: user }),
  malformed_path: () => send('/pools/%zz'),
  bad_request: () => thrown('bad_request'),
  deposit_below_minimum: () => create({ initialDeposit: '1' }),
  below_minimum: async () => {
    await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, minimum)
      SELECT type, contract_address, 0, 0, 7 FROM pools LIMIT 1`);
    return send(`/pools/${poolId}/calls/deposit?amount=6`, { as: user });
  },
  invalid_token: () => send('/pools'),
  token_expired: () => send('/pools', { as: token({}, -1) }),
  token_revoked: async () => {
    const session = await app.signIn();
    await post('/auth/logout', {}, { as: session });
    return send('/pools', { as: session });
  },
  authentication_failed: () => post('/auth/verify', {}),
  unauthorized: () => thrown('unauthorized'),
  forbidden: async () => send(`/pools/${poolId}`, { as: await app.signIn() }),
  owner_cannot_leave: () => send(`/pools/${poolId}/membership`, { method: 'DELETE', as: user }),
  sign_in_again: () => send('/users/me', { method: 'DELETE', as: token({ generation: 0 }, 60) }),
  cross_site_request: () => send('/pools', { headers: { 'sec-fetch-site': 'cross-site' } }),
  not_found: () => send(`/pools/${UNKNOWN_ID}`, { as: user }),
  no_open_draw: () => send('/lottery/current', { as: user }),
  no_circle: () => send(`/pools/${poolId}/rounds`, { as: user }),
  idempotency_in_progress: () =>
    app.whileUnderWay(user, 'in-progress', () => create({}, { 'idempotency-key': 'in-progress' })),
  transaction_not_pending: async () => {
    const row = { poolId, account: user.address, status: 'EXPIRED' } as const;
    const { id } = await addTransaction(app, row);
    return send(`/pools/${poolId}/calls/deposit?transaction=${id}`, { as: user });
  },
  wrong_draw_status: () => callOf('claim', { status: 'ACTIVE' }),
  too_early: () => callOf('complete', { status: 'DRAWING', pickBlock: LAST_BLOCK + 1 }),
  already_paid: () => callOf('claim', { status: 'COMPLETED', winner: user.address, paid: true }),
  nothing_to_refund: () => callOf('refund', { status: 'CANCELLED' }),
  deposit_submitted: async () => {
    const pool = (await create({})).body.data as { id: string; depositId: string };
    await post(`/transactions/${pool.depositId}/sent`, { hash: newHash() }, { as: user });
    return send(`/pools/${pool.id}/calls/deposit?transaction=${pool.depositId}`, { as: user });
  },
  insufficient_balance: () => atHead(() => send(`/pools/${poolId}/calls/withdraw?amount=1`, { as: user })),
  nothing_to_claim: () => atHead(() => send(`/pools/${poolId}/calls/claim`, { as: user })),
  compounding_unchanged: () =>
    atHead(() => send(`/pools/${poolId}/calls/compounding?enabled=false`, { as: user })),
  uses_circle: () => ofCircle('calls/withdraw?amount=1'),
  circle_exists: () => ofCircle(`calls/open?${TERMS}`, {}),
  wrong_circle_state: () => ofCircle('calls/contribute', { state: 'JOINING' }),
  already_done: () => ofCircle('calls/contribute', { paid: true }),
  too_late: () => ofCircle('calls/contribute', { ends: 0 }),
  nothing_in_circle: () => ofCircle('calls/payout', {}),
  pool_not_empty: async () => {
    const { id } = (await create({})).body.data as { id: string };
    await addTransaction(app, { poolId: id, account: user.address });
    return send(`/pools/${id}`, { method: 'DELETE', as: user });
  },
  pool_cancelled: async () => {
    const { body } = await create({}, { 'idempotency-key': 'cancelled' });
    await send(`/pools/${body.data.id}`, { method: 'DELETE', as: user });
    return create({}, { 'idempotency-key': 'cancelled' });
  },
  webhook_not_active: async () => {
    const id = await webhook();
    await app.sql(`UPDATE webhooks SET status = 'PAUSED' WHERE id = $1`, [id]);
    return send(`/webhooks/${id}/test`, { method: 'POST', as: user });
  },
  webhook_test_pending: async () => {
    const id = await webhook();
    await app.sql(`UPDATE webhooks SET status = 'ACTIVE' WHERE id = $1`, [id]);
    // As one that is being sent.
    await app.sql(
      `INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, next_attempt_at)
       VALUES ($1, $1, 'x', 'test', 'infinity')`,
      [id],
    );
    return send(`/webhooks/${id}/test`, { method: 'POST', as: user });
  },
  conflict: () => thrown('conflict'),
  payload_too_large: () => post('/pools', `"${'x'.repeat(70_000)}"`, { as: user }),
  unsupported_media_type: () => post('/pools', 'x', { as: user, headers: { 'content-type': 'text/plain' } }),
  idempotency_key_reused: async () => {
    await create({}, { 'idempotency-key': 'reused' });
    return create({ type: 'rotating' }, { 'idempotency-key': 'reused' });
  },
  rate_limited_general: () => last(101, () => send('/nowhere', { ip: '198.51.100.1' })),
  rate_limited_auth: () => last(61, () => send('/auth/nonce', { ip: '198.51.100.2' })),
  rate_limited: () => thrown('rate_limited'),
  too_many_connections: async () => {
    await app.nest.listen(0, '127.0.0.1');
    const { port } = app.nest.getHttpServer().address() as AddressInfo;
    const stream = new EventReader();
    await stream.open(port, '/events', { authorization: `Bearer ${user.token}` });
    const answer = await send('/events', { as: user });
    stream.close();
    return answer;
  },
  internal_error: () => thrown('fault'),
  unavailable: () => thrown('unavailable'),
  outcome_unknown: () => thrown('outcome_unknown', 'POST'),
  busy: async () => {
    // As many as may be checked by the chain at once, and one more.
    const answers = await Promise.all(Array.from({ length: 17 }, signIn));
    return answers.find(({ status }) => status === 503) ?? answers[0];
  },
  chain_unknown: () => send(`/pools/${poolId}/calls/claim`, { as: user }),
};

/** They come with the text of whoever throws them. */
const OWN_TEXT: ErrorCode[] = ['bad_request', 'unauthorized', 'conflict', 'rate_limited'];

describe('codes of errors', () => {
  it.each(ERROR_CODES)('%s comes with the status and text of the document, in the log too', async (code) => {
    const { status, error } = ERRORS[code];
    const before = lines.length;
    const answer = await PRODUCERS[code]();
    const text = OWN_TEXT.includes(code) ? (expect.any(String) as unknown) : error;
    expect([answer.status, answer.body]).toEqual([
      status,
      expect.objectContaining({ success: false, error: text, code }),
    ]);
    // As the document says; of 429 and 503 every answer is checked for it.
    if (status === 409)
      expect(answer.headers['retry-after']).toBe(code === 'idempotency_in_progress' ? '1' : undefined);
    const logged = lines.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(logged).toContainEqual(expect.objectContaining({ msg: 'request', status, code }));
  });

  it('a request that only reads has no outcome that could be unknown', async () => {
    expect(await thrown('outcome_unknown')).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  });

  it('are listed in the document', async () => {
    const { components } = app.validator.document;
    expect(components.schemas.ErrorCode.enum).toEqual(ERROR_CODES);
    expect(components.schemas.ErrorResponse.required).toEqual(['success', 'error', 'message', 'code']);
  });

  it('are in no answer that is no error, nor in its line', async () => {
    const before = lines.length;
    expect((await send('/pools', { as: user })).body).not.toHaveProperty('code');
    expect(lines.slice(before).join('')).not.toContain('"code"');
  });

  it('what is no HTTP is answered on the socket, with a code', async () => {
    const other = new TestApp();
    await other.start();
    await other.listen();
    const ask = async (bytes: string): Promise<unknown> => {
      const socket = connect(other.port!, '127.0.0.1').setEncoding('utf8');
      let text = '';
      socket.on('data', (chunk: string) => (text += chunk)).on('error', () => undefined);
      socket.write(bytes);
      await once(socket, 'close');
      return JSON.parse(text.split('\r\n\r\n')[1]);
    };
    expect(await ask('nonsense\r\n\r\n')).toMatchObject({ success: false, code: 'bad_request' });
    const long = await ask(`GET / HTTP/1.1\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(long).toEqual({
      success: false,
      error: 'Request header fields too large',
      message: 'Request header fields too large',
      code: 'bad_request',
    });
    await other.stop();
  });
});
