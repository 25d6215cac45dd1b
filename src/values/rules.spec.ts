import fc from 'fast-check';
import { ADDRESS, MAX_AMOUNT, TX_HASH, UUID, canonicalAmount, parseTime } from './rules';

describe('canonicalAmount', () => {
  it('returns every uint256, with or without leading zeros', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX_AMOUNT }), fc.nat(300), (amount, zeros) => {
        expect(canonicalAmount('0'.repeat(zeros) + amount.toString())).toBe(amount.toString());
      }),
    );
  });

  it('refuses values above a uint256', () => {
    expect(canonicalAmount((2n ** 256n - 1n).toString())).toBe((2n ** 256n - 1n).toString());
    expect(canonicalAmount((2n ** 256n).toString())).toBeUndefined();
    fc.assert(
      fc.property(fc.bigInt({ min: MAX_AMOUNT + 1n, max: 10n ** 400n }), (amount) => {
        expect(canonicalAmount(amount.toString())).toBeUndefined();
      }),
    );
  });

  it('refuses text with anything but decimal digits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!/^[0-9]+$/.test(text));
        expect(canonicalAmount(text)).toBeUndefined();
      }),
    );
    for (const text of ['', ' 1', '1 ', '1\n', '+1', '-1', '1.0', '1e3', '0x10', '1_0', '١', '１'])
      expect(canonicalAmount(text)).toBeUndefined();
  });

  it('refuses values that are not text', () => {
    fc.assert(
      fc.property(
        fc.anything().filter((value) => typeof value !== 'string'),
        (value) => {
          expect(canonicalAmount(value)).toBeUndefined();
        },
      ),
    );
  });
});

it.each([
  ['ADDRESS', ADDRESS, `0x${'aB'.repeat(20)}`],
  ['TX_HASH', TX_HASH, `0x${'aB'.repeat(32)}`],
  ['UUID', UUID, '0190A0b1-c2d3-7e4f-8a5b-6c7d8e9f0a1b'],
])('%s holds for the whole text only', (_name, pattern, good) => {
  expect(pattern.test(good)).toBe(true);
  for (const bad of [
    `${good}\n`,
    `\n${good}`,
    ` ${good}`,
    `${good}0`,
    good.slice(0, -1),
    good.replace(/.$/, 'g'),
  ])
    expect(pattern.test(bad)).toBe(false);
});

describe('parseTime', () => {
  it('gives the milliseconds of what Date writes', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
        (date) => {
          expect(parseTime(date.toISOString())).toBe(date.getTime());
        },
      ),
    );
  });

  it.each([
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-01-31T12:30Z', '2026-01-31T12:30:00.000Z'],
    ['2026-01-31T12:30:15+05:30', '2026-01-31T07:00:15.000Z'],
    ['2026-01-31T12:30:15.058Z', '2026-01-31T12:30:15.058Z'],
    ['2026-01-31T12:30:15.500000Z', '2026-01-31T12:30:15.500Z'],
    ['2026-01-31T12:30:15.500000001Z', '2026-01-31T12:30:15.501Z'],
    ['2026-12-31T23:59:59.999999999Z', '2027-01-01T00:00:00.000Z'],
  ])('takes %s', (text, time) => {
    expect(new Date(parseTime(text)!).toISOString()).toBe(time);
  });

  it.each([
    '',
    '2026',
    '2026-02-29',
    '2026-13-01',
    '2026-01-01T24:01Z',
    '2026-01-01T12:60Z',
    '2026-01-01T12:00',
    '2026-01-01 12:00Z',
    '2026-01-01T12:00:00 02:00',
    '2026-01-01T12:00:00.1234567890Z',
    '2026-01-01T12:00Z\n',
    '1767225600000',
    1767225600000,
    null,
    undefined,
    ['2026-01-01'],
  ])('takes no %p', (value) => {
    expect(parseTime(value)).toBeUndefined();
  });
});
