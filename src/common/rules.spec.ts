import fc from 'fast-check';
import { ADDRESS, MAX_AMOUNT, TX_HASH, UUID, canonicalAmount } from './rules';

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
