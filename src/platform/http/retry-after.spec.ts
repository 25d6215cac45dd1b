import { retryAfterOf } from './retry-after';

const DATE = 'Wed, 21 Oct 2015 07:28:00 GMT';
it.each([
  ['120', DATE, 120],
  ['0', undefined, 0],
  ['0.5', undefined, 0.5],
  ['Wed, 21 Oct 2015 07:30:00 GMT', DATE, 120],
  ['Wed, 21 Oct 2015 07:00:00 GMT', DATE, 0],
  ['Wed, 21 Oct 2099 07:00:00 GMT', undefined, 86_400],
  ['9'.repeat(400), DATE, 86_400],
  ['-5', DATE, undefined],
  ['soon', DATE, undefined],
  ['', DATE, undefined],
  [undefined, DATE, undefined],
  [null, null, undefined],
])('Retry-After %s, at %s: %s seconds', (value, date, seconds) =>
  expect(retryAfterOf(value, date, 86_400)).toBe(seconds),
);
