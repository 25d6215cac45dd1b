import { BadRequestException, HttpException, ImATeapotException, NotFoundException } from '@nestjs/common';
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

  it.each(['08006', '53300', '57014', '57P01', '40P01', '55P03', 'ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT'])(
    'is 503 when the database is the reason: %s',
    (code) => expect(describeError(withCode(code))).toEqual(UNAVAILABLE),
  );
  it.each([
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'Query read timeout',
    'too many waiting for a database connection',
  ])('is 503 when the driver says: %s', (message) =>
    expect(describeError(new Error(message))).toEqual(UNAVAILABLE),
  );

  it.each(['23505', '22P05', '42P01', '22003', 'ENOENT', ''])('is 500 for a fault of ours: %j', (code) =>
    expect(describeError(withCode(code))).toEqual(INTERNAL),
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
