import { formatAmount, parseAmount } from '@pooled-savings/client';
import { fractions } from '../support/random';

const LOCALES = `en-US en-IN en-ZA de-DE de-CH de-AT fr-FR fr-CH es-ES pt-BR pl-PL sv-SE ru-RU tr-TR ja-JP
  he-IL hi-IN mr-IN ne-NP bn-BD ar-EG ar-AE fa-IR ks-IN ckb-IQ my-MM th-TH-u-nu-thai zh-u-nu-hanidec
  en-u-nu-fullwide ff-Adlm`.split(/\s+/);
const TOKEN = 10n ** 18n;

/** What the text means, in tokens as a program writes them; or why it means nothing, and what it could mean. */
function read(text: string, locale: string, decimals = 18): string {
  const plain = (units: bigint): string =>
    formatAmount(units, { decimals, locale: 'en-US' }).replaceAll(',', '');
  const parsed = parseAmount(text, { decimals, locale });
  if (parsed.ok) return plain(parsed.units) + (parsed.alternative ? ` or ${plain(parsed.alternative)}` : '');
  return [parsed.reason, ...parsed.readings.map(plain)].join(' ');
}

describe.each(LOCALES)('%s', (locale) => {
  it.each([0, 6, 18])('reads back what it writes, of a token with %i decimals', (decimals) => {
    const random = fractions(LOCALES.indexOf(locale) * 100 + decimals);
    for (let round = 0; round < 60; round++) {
      const length = 1 + Math.floor(random() * 40);
      const digits = Array.from({ length }, () => Math.floor(random() * 10)).join('');
      const units = BigInt(digits) + 1n;
      const text = formatAmount(units, { decimals, locale });
      expect([text, parseAmount(text, { decimals, locale })]).toMatchObject([text, { ok: true, units }]);
    }
  });
});

it.each([
  ['en-US', '10.5', '10.5'],
  ['en-US', '1,234.5', '1234.5'],
  ['en-US', '1 234.5', '1234.5'],
  ['en-US', '.5', '0.5'],
  ['en-US', '007', '7'],
  ['en-US', ' 12 ', '12'],
  ['de-DE', '10,5', '10.5'],
  ['de-DE', '1.234,5', '1234.5'],
  ['de-DE', '1234,5', '1234.5'],
  ['de-CH', "1'234.50", '1234.5'],
  ['de-CH', '1’234.50', '1234.5'],
  ['fr-FR', '1 234,5', '1234.5'],
  ['fr-FR', '1\u00a0234,5', '1234.5'],
  ['fr-FR', '1\u202f234,5', '1234.5'],
  ['es-ES', '1.234,5', '1234.5'],
  ['hi-IN', '12,34,567.5', '1234567.5'],
  ['hi-IN', '1,234,567', '1234567'],
  ['hi-IN', '१२,३४,५६७.५', '1234567.5'],
  ['ar-EG', '١٬٢٣٤٫٥', '1234.5'],
  ['ar-EG', '\u200f١٠٫٥', '10.5'],
  ['ar-EG', '1,234.5', '1234.5'],
  ['fa-IR', '۱٬۲۳۴٫۵', '1234.5'],
  ['ja-JP', '１，２３４．５', '1234.5'],
  // Elsewhere it means something else.
  ['en-US', '1,234', '1234 or 1.234'],
  ['en-US', '1.234', '1.234 or 1234'],
  ['de-DE', '1.234', '1234 or 1.234'],
  ['de-DE', '1,234', '1.234 or 1234'],
  ['fr-FR', '1,234', '1.234 or 1234'],
  // Only elsewhere it means something.
  ['en-US', '10,5', 'ambiguous 10.5'],
  ['en-US', '1.234,5', 'ambiguous 1234.5'],
  ['en-US', '1.234.567', 'ambiguous 1234567'],
  ['en-US', '12,34,567', 'ambiguous 1234567'],
  ['en-US', '10 000,5', 'ambiguous 10000.5'],
  ['en-US', '0,123', 'ambiguous 0.123'],
  ['de-DE', '10.5', 'ambiguous 10.5'],
  ['de-DE', '0.123', 'ambiguous 0.123'],
  ['de-DE', '1,234.5', 'ambiguous 1234.5'],
  ['pt-BR', '10.50', 'ambiguous 10.5'],
  ['ar-EG', '١٠,٥', 'ambiguous 10.5'],
])('%s: "%s" is %s', (locale, text, meaning) => expect(read(text, locale)).toBe(meaning));

it.each([
  ['', 'empty'],
  [' \u00a0 ', 'empty'],
  ['0', 'zero'],
  ['0.000', 'zero'],
  ['-5', 'negative'],
  ['−5', 'negative'],
  ['(5)', 'negative'],
  ['1e18', 'exponent'],
  ['1.5E3', 'exponent'],
  ['+5', 'malformed'],
  ['5.', 'malformed'],
  ['1.2.3', 'malformed'],
  ['1 5', 'malformed'],
  ['0x10', 'malformed'],
  ['10 TEST', 'malformed'],
  ['$10', 'malformed'],
  ['五', 'malformed'],
  ['1٢', 'malformed'],
  ['๑๒', 'malformed'],
  ['1\u202e5', 'malformed'],
  ['NaN', 'malformed'],
  ['9'.repeat(200), 'too_long'],
  ['9'.repeat(80), 'too_large'],
])('"%s" is refused: %s', (text, reason) => expect(read(text, 'en-US')).toBe(reason));

it('refuses digits that the token does not have, but not zeros', () => {
  expect(read('1.1234567', 'en-US', 6)).toBe('too_precise');
  expect(read('1.1234560', 'en-US', 6)).toBe('1.123456');
  expect(read('1.5', 'en-US', 0)).toBe('too_precise');
  expect(read('1,234', 'en-US', 0)).toBe('1234');
});

it('takes all that an amount can be, exactly', () => {
  const most = (2n ** 256n - 1n).toString();
  expect(parseAmount(most, { decimals: 0, locale: 'en-US' })).toEqual({ ok: true, units: BigInt(most) });
  expect(read((2n ** 256n).toString(), 'en-US', 0)).toBe('too_large');
  expect(formatAmount(2n ** 256n - 1n, { decimals: 18, locale: 'en-US' }).replaceAll(',', '')).toBe(
    `${most.slice(0, -18)}.${most.slice(-18)}`,
  );
});

it('an unknown locale is that of the process', () =>
  expect(parseAmount('1.5', { decimals: 18, locale: 'no such locale' })).toEqual({
    ok: true,
    units: (3n * TOKEN) / 2n,
  }));

it.each([
  ['en-US', 123456789n * 10n ** 14n, '12,345.6789'],
  ['de-DE', 1234567n * 10n ** 16n, '12.345,67'],
  ['en-US', 123456789n * 10n ** 13n, '1,234.5678'],
  ['en-US', 1n, '<0.0001'],
  ['de-DE', 1n, '<0,0001'],
  ['ar-EG', 1n, '<٠٫٠٠٠١'],
  ['en-US', -1n, '>-0.0001'],
  ['en-US', (-3n * TOKEN) / 2n, '-1.5'],
  ['en-US', 0n, '0'],
])('%s writes %s with four digits as %s', (locale, units, text) =>
  expect(formatAmount(units, { decimals: 18, locale, digits: 4 })).toBe(text),
);
