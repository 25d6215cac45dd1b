import {
  BadRequestException,
  ConflictException,
  ForbiddenException,
  HttpException,
  InternalServerErrorException,
  NotFoundException,
  UnauthorizedException,
} from '@nestjs/common';
import fastify from 'fastify';
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { DatabaseUnavailable } from '#platform/postgres/unavailable';
import { describeError, hideText, sendError } from './error.filter';
import { ApiError, forbidden, validationFailed } from './errors';

const SECRET = 'relation "users" at 10.0.0.7';
const withCode = (code: string): Error => Object.assign(new Error(SECRET), { code });
const ofDatabase = (code: string): Error => Object.assign(new DatabaseError(SECRET, 0, 'error'), { code });
const fromFramework = (statusCode: number): Error => Object.assign(new Error(SECRET), { statusCode });
const described = (status: number, error: string, code: string, more = {}): object => ({
  status,
  body: { success: false, error, code, ...more },
});
const UNAVAILABLE = described(503, 'Service unavailable', 'unavailable');
const INTERNAL = described(500, 'Internal server error', 'internal_error');

describe('describeError', () => {
  it('keeps the text and details of an ApiError', () => {
    expect(describeError(forbidden())).toEqual(described(403, 'Forbidden', 'forbidden'));
    const details = [{ field: 'a', message: 'b' }];
    const failed = described(400, 'Validation failed', 'validation_failed', { details });
    expect(describeError(validationFailed(...details))).toEqual(failed);
  });

  it.each([
    [401, 'Unauthorized', 'unauthorized'],
    [404, 'Not found', 'not_found'],
    [413, 'Payload too large', 'payload_too_large'],
    [414, 'URI Too Long', 'bad_request'],
    [415, 'Unsupported media type', 'unsupported_media_type'],
    [501, 'Not Implemented', 'internal_error'],
  ])('has a text of its own for the framework’s %d', (status, error, code) => {
    const expected = described(status, error, code);
    expect(describeError(hideText(fromFramework(status)))).toEqual(expected);
    expect(describeError(Object.assign(fromFramework(status), { code: 'FST_SOME' }))).toEqual(expected);
  });

  it('reports that a request cannot be parsed, but not why', () => {
    const error = describeError(hideText(fromFramework(400)));
    const details: unknown[] = [expect.any(Object)];
    expect(error).toEqual(described(400, 'Validation failed', 'bad_request', { details }));
    expect(JSON.stringify(error)).not.toContain(SECRET);
  });

  it.each('08006 26000 40001 53300 57014 57P01 57P03 25006 58030 40P01 55P03'.split(' '))(
    'is 503 when PostgreSQL says that the database is the reason: %s',
    (code) => {
      const error = Object.assign(new DatabaseError(SECRET, 1, 'error'), { code });
      expect(describeError(error)).toEqual(UNAVAILABLE);
      expect(describeError(new QueryFailedError('', [], error))).toEqual(UNAVAILABLE);
      // The same code from other software.
      expect(describeError(withCode(code))).toEqual(INTERNAL);
    },
  );
  it('is 503 when the database did not answer, but not for other errors with the same text or code', () => {
    const error = new DatabaseUnavailable(SECRET);
    expect(describeError(error)).toEqual(UNAVAILABLE);
    expect(describeError(new QueryFailedError('', [], error))).toEqual(UNAVAILABLE);
    for (const message of ['Connection terminated unexpectedly', 'connection timeout', 'too many waiting'])
      expect(describeError(new Error(message))).toEqual(INTERNAL);
    expect(describeError(withCode('ECONNREFUSED'))).toEqual(INTERNAL);
  });

  it.each(['23505', '22P05', '42P01', '22003', 'ENOENT', ''])('is 500 for our own faults: %j', (code) =>
    expect([describeError(withCode(code)), describeError(ofDatabase(code))]).toEqual([INTERNAL, INTERNAL]),
  );
  it.each([
    undefined,
    null,
    'text',
    7,
    {},
    fromFramework(404),
    hideText(fromFramework(200)),
    hideText(fromFramework(999)),
  ])('is 500 for whatever else is thrown: %p', (thrown) => expect(describeError(thrown)).toEqual(INTERNAL));

  it.each([
    [new ConflictException('taken'), 409, 'taken'],
    [new ConflictException('taken', { cause: new Error(SECRET) }), 409, 'taken'],
    [new HttpException('pay first', 402), 402, 'pay first'],
    [new BadRequestException('not so'), 400, 'not so'],
    [new InternalServerErrorException('our fault'), 500, 'our fault'],
    [new HttpException({ status: 403, error: 'custom' }, 403), 403, 'custom'],
    [new ConflictException('Connection terminated'), 409, 'Connection terminated'],
    [Object.assign(new Error('exposed'), { statusCode: 422, expose: true }), 422, 'exposed'],
    [new NotFoundException(), 404, 'Not found'],
    [new UnauthorizedException(), 401, 'Unauthorized'],
    [new ForbiddenException(), 403, 'Forbidden'],
    [new ForbiddenException('Forbidden resource'), 403, 'Forbidden'],
    [new ConflictException(), 409, 'Conflict'],
    [new ConflictException(new Error(SECRET)), 409, 'Conflict'],
    [new NotFoundException(new Error(SECRET)), 404, 'Not found'],
    [new InternalServerErrorException(), 500, 'Internal server error'],
    [new HttpException('', 404), 404, 'Not found'],
    [new HttpException('odd', 42), 500, 'odd'],
  ])('keeps what was thrown on purpose: %p', (thrown, status, error) => {
    const found = describeError(thrown);
    expect([found.status, found.body.error, found.body.success]).toEqual([status, error, false]);
  });

  it('keeps the fields of an object that was thrown', () => {
    const thrown = new HttpException({ message: 'full', code: 'POOL_FULL', success: true, left: 0 }, 409);
    expect(describeError(thrown).body).toEqual({ success: false, error: 'full', code: 'POOL_FULL', left: 0 });
  });

  it('makes details of a list of messages, texts and violations alike', () => {
    const violation = {
      property: 'lines',
      children: [{ property: '0', constraints: { a: 'b' } }],
      value: [1],
    };
    const details = [
      { field: 'request', message: 'a' },
      { field: 'x', message: 'y' },
      { field: 'lines[0]', message: 'b' },
    ];
    const thrown = new BadRequestException(['a', { field: 'x', message: 'y' }, violation]);
    const failed = described(400, 'Validation failed', 'validation_failed', { details });
    expect(describeError(thrown)).toEqual(failed);
  });

  it('names at most 20 details of 200 characters', () => {
    const many = Array.from({ length: 100 }, () => ({ field: 'f'.repeat(500), message: 'm'.repeat(500) }));
    for (const thrown of [
      validationFailed(...many),
      new ApiError(422, 'x', { details: many }),
      new BadRequestException(many),
      new BadRequestException(many.map(({ message }) => message)),
    ]) {
      const { details = [] } = describeError(thrown).body;
      expect(details).toHaveLength(20);
      expect(Math.max(...details.map(({ field, message }) => field.length + message.length))).toBeLessThan(
        403,
      );
    }
  });

  it('has details only where there are some', () => {
    expect(describeError(new NotFoundException()).body).not.toHaveProperty('details');
    expect(describeError(new ApiError(409, 'x')).body).not.toHaveProperty('details');
  });
});

it('an error is stored by no cache, though its handler had allowed that', async () => {
  const app = fastify();
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.get('/', (_request, reply) => {
    void reply.header('cache-control', 'public, max-age=60');
    throw new Error('broken');
  });
  const { statusCode, headers } = await app.inject('/');
  expect([statusCode, headers['cache-control']]).toEqual([500, 'no-store']);
  await app.close();
});
