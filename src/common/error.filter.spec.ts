import { BadRequestException, HttpException, ImATeapotException, NotFoundException } from '@nestjs/common';
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { DatabaseUnavailable } from '../database/unavailable';
import { describeError } from './error.filter';
import { ApiError, forbidden, validationFailed } from './errors';

const SECRET = 'relation "users" at 10.0.0.7';
const withCode = (code: string): Error => Object.assign(new Error(SECRET), { code });
const fromFramework = (statusCode: number): Error => Object.assign(new Error(SECRET), { statusCode });
const UNAVAILABLE = { status: 503, body: { success: false, error: 'Service unavailable' } };
const INTERNAL = { status: 500, body: { success: false, error: 'Internal server error' } };

describe('describeError', () => {
  it('keeps the text and details of an ApiError', () => {
    expect(describeError(forbidden())).toEqual({ status: 403, body: { success: false, error: 'Forbidden' } });
    const details = [{ field: 'a', message: 'b' }];
    expect(describeError(validationFailed(...details))).toEqual({
      status: 400,
      body: { success: false, error: 'Validation failed', details },
    });
  });

  it.each([
    [401, 'Unauthorized'],
    [404, 'Not found'],
    [413, 'Payload too large'],
    [414, 'URI too long'],
    [415, 'Unsupported media type'],
  ])('has a text of its own for the framework’s %d', (status, error) => {
    const expected = { status, body: { success: false, error } };
    expect(describeError(fromFramework(status))).toEqual(expected);
    expect(describeError(new HttpException(SECRET, status))).toEqual(expected);
  });

  it('says of a request that cannot be parsed that it is malformed, and not why', () => {
    for (const error of [new BadRequestException(SECRET), fromFramework(400)]) {
      const { status, body } = describeError(error);
      expect(status).toBe(400);
      expect(body).toEqual({ success: false, error: 'Validation failed', details: [expect.any(Object)] });
      expect(JSON.stringify(body)).not.toContain(SECRET);
    }
  });

  it.each(['08006', '53300', '57014', '57P01', '57P03', '25006', '58030', '40P01', '55P03'])(
    'is 503 when PostgreSQL says that the database is the reason: %s',
    (code) => {
      const error = Object.assign(new DatabaseError(SECRET, 1, 'error'), { code });
      expect(describeError(error)).toEqual(UNAVAILABLE);
      expect(describeError(new QueryFailedError('', [], error))).toEqual(UNAVAILABLE);
      // Of somebody else.
      expect(describeError(withCode(code))).toEqual(INTERNAL);
    },
  );
  it('is 503 when the database did not answer, and not for a text or a socket of somebody else', () => {
    const error = new DatabaseUnavailable(SECRET);
    expect(describeError(error)).toEqual(UNAVAILABLE);
    expect(describeError(new QueryFailedError('', [], error))).toEqual(UNAVAILABLE);
    for (const message of ['Connection terminated unexpectedly', 'connection timeout', 'too many waiting'])
      expect(describeError(new Error(message))).toEqual(INTERNAL);
    expect(describeError(withCode('ECONNREFUSED'))).toEqual(INTERNAL);
  });

  it.each(['23505', '22P05', '42P01', '22003', 'ENOENT', ''])('is 500 for a fault of ours: %j', (code) =>
    expect(describeError(Object.assign(new DatabaseError(SECRET, 1, 'error'), { code }))).toEqual(INTERNAL),
  );
  it.each([
    undefined,
    null,
    'text',
    7,
    {},
    new ImATeapotException(SECRET),
    fromFramework(200),
    fromFramework(999),
  ])('is 500 for whatever else is thrown: %p', (thrown) => expect(describeError(thrown)).toEqual(INTERNAL));

  it('has details only where there are some', () => {
    expect(describeError(new NotFoundException()).body).not.toHaveProperty('details');
    expect(describeError(new ApiError(409, 'x')).body).not.toHaveProperty('details');
  });
});
