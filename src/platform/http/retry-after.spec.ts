import { retryAfterMs } from './retry-after';

const NOW = Date.UTC(2026, 0, 1, 12);
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toUTCString();

it.each([
  ['nothing', {}, undefined],
  ['seconds', { 'retry-after': '7' }, 7000],
  ['parts of a second', { 'retry-after': ' 0.5 ' }, 500],
  ['a date', { 'retry-after': at(20) }, 20_000],
  ['a date by a clock that is an hour ahead', { 'retry-after': at(3620), date: at(3600) }, 20_000],
  ['a date that is over', { 'retry-after': at(-20) }, 0],
  ['a year', { 'retry-after': '31536000' }, 60_000],
  ['a date far ahead', { 'retry-after': at(1e9) }, 60_000],
  ['digits without end', { 'retry-after': '9'.repeat(400) }, 60_000],
  ['words', { 'retry-after': 'soon' }, undefined],
  ['a negative number', { 'retry-after': '-' }, undefined],
])('reads %s', (_, headers, ms) =>
  expect(retryAfterMs(new Headers(headers as Record<string, string>), NOW)).toBe(ms),
);
