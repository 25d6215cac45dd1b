import { All, BadRequestException, ConflictException, Controller, Module, Param } from '@nestjs/common';
import { ThrottlerException } from '@nestjs/throttler';
import { ERROR_CODES, ERRORS, type ErrorCode } from '#platform/errors/error-codes';
import { ApiError } from '#platform/errors/errors';
import { createLogger } from '#platform/log/logger';
import { DatabaseUnavailable, OutcomeUnknown } from '#platform/postgres/unavailable';
import { Public } from '#features/access/auth.guard';
import { type Response, type SignedIn, useApp } from '../support/app';
import { addCircle, forgetCircles, knowCircles } from '../support/circles/known-circles';
import { raw } from '../support/network/raw';

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
const logger = createLogger('info', false, { write: (line) => lines.push(line) });
const app = useApp({}, { modules: [ThrowingModule], logger });
let user: SignedIn;
let poolId: string;

beforeAll(async () => {
  user = await app.signIn();
  poolId = (await app.createPool(user)).id as string;
});

const get = (url: string): Promise<Response> => app.get(url, user);
const thrown = async (what: string, method: 'GET' | 'POST' = 'GET') => {
  // Not by the check of the document, which does not have it.
  const answer = await app.nest.inject({ method, url: `/throwing/${what}` });
  return { status: answer.statusCode, body: answer.json<object>() };
};
/** Asks something of a pool that has a circle like this. */
const ofCircle = async (path: string, fields?: Parameters<typeof addCircle>[3]): Promise<Response> => {
  const { id } = (await app.createPool(user, { type: 'rotating' })) as { id: string };
  await knowCircles(app);
  if (fields) await addCircle(app, id, user.address, fields);
  const answer = await get(`/pools/${id}/${path}`);
  await forgetCircles(app);
  return answer;
};
const TERMS = `contribution=100&period=3600&joinBy=2026-03-02T00:00:00Z&members=0x${'0a'.repeat(20)},0x${'0b'.repeat(20)}`;
/** Requests for the codes that no other test of `npm test` covers. */
const PRODUCERS: Partial<Record<ErrorCode, () => Promise<Pick<Response, 'status' | 'body'>>>> = {
  calls_unknown: async () => {
    await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, pools_by)
      SELECT type, contract_address, 0, 0, 'number' FROM pools LIMIT 1`);
    const answer = await get(`/pools/${poolId}/calls/claim`);
    await app.sql('DELETE FROM chain_contracts');
    return answer;
  },
  below_minimum: async () => {
    await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, minimum)
      SELECT type, contract_address, 0, 0, 7 FROM pools LIMIT 1`);
    return get(`/pools/${poolId}/calls/deposit?amount=6`);
  },
  bad_request: () => thrown('bad_request'),
  unauthorized: () => thrown('unauthorized'),
  uses_circle: () => ofCircle('calls/withdraw?amount=1'),
  circle_exists: () => ofCircle(`calls/open?${TERMS}`, {}),
  wrong_circle_state: () => ofCircle('calls/contribute', { state: 'JOINING' }),
  already_done: () => ofCircle('calls/contribute', { paid: true }),
  too_late: () => ofCircle('calls/contribute', { ends: 0 }),
  nothing_in_circle: () => ofCircle('calls/payout', {}),
  conflict: () => thrown('conflict'),
  rate_limited: () => thrown('rate_limited'),
  internal_error: () => thrown('fault'),
  unavailable: () => thrown('unavailable'),
  outcome_unknown: () => thrown('outcome_unknown', 'POST'),
};

/** They come with the text of the code that throws them. */
const OWN_TEXT: ErrorCode[] = ['bad_request', 'unauthorized', 'conflict', 'rate_limited'];

describe('codes of errors', () => {
  it.each(Object.entries(PRODUCERS))(
    '%s has the status and text of the table, in the log too',
    async (name, ask) => {
      const code = name as ErrorCode;
      const { status, error } = ERRORS[code];
      const before = lines.length;
      const answer = await ask();
      const text = OWN_TEXT.includes(code) ? (expect.any(String) as unknown) : error;
      expect([answer.status, answer.body]).toEqual([
        status,
        expect.objectContaining({ success: false, error: text, code }),
      ]);
      const logged = lines.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(logged).toContainEqual(expect.objectContaining({ msg: 'request', status, code }));
    },
  );

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
    expect((await get('/pools')).body).not.toHaveProperty('code');
    expect(lines.slice(before).join('')).not.toContain('"code"');
  });

  it('what is no HTTP is answered on the socket, with a code', async () => {
    await app.listen();
    const ask = async (bytes: string): Promise<unknown> => {
      const [head, body] = (await raw(app.port!, bytes)).split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1.1 4\d\d .*\r\n(.+\r\n)*Cache-Control: no-store(\r\n|$)/);
      return JSON.parse(body);
    };
    expect(await ask('nonsense\r\n\r\n')).toMatchObject({ success: false, code: 'bad_request' });
    const long = await ask(`GET / HTTP/1.1\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(long).toEqual({
      success: false,
      error: 'Request Header Fields Too Large',
      message: 'Request Header Fields Too Large',
      code: 'bad_request',
    });
  });
});
