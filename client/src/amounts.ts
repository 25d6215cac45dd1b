export interface AmountRules {
  /** Of the token: one token has 10^decimals units. */
  decimals: number;
  /** BCP 47, such as `de-CH`. Default: that of the page or process. */
  locale?: string;
}

export interface AmountFormat extends AmountRules {
  /** The most digits after the decimal sign, the rest is cut off; all of them by default. */
  digits?: number;
}

/**
 * Why a text is no amount. `ambiguous`: it is written as other countries do, or not as anyone does: `readings` has what
 * it can mean, ask which. `too_precise`: more digits than the token has.
 */
export type AmountProblem =
  | 'empty'
  | 'ambiguous'
  | 'malformed'
  | 'negative'
  | 'exponent'
  | 'zero'
  | 'too_precise'
  | 'too_large'
  | 'too_long';

export type ParsedAmount =
  | {
      readonly ok: true;
      readonly units: bigint;
      /**
       * What the same text means elsewhere, a thousand times more or less: "1,234" is 1234 in the USA, and 1.234 in
       * Germany. Show the user which one is taken.
       */
      readonly alternative?: bigint;
    }
  | { readonly ok: false; readonly reason: AmountProblem; readonly readings: readonly bigint[] };

/** How a locale writes numbers. */
interface Convention {
  decimal: string;
  group: string;
  /** Lengths of the groups: the one before the decimal sign, and those further left. */
  sizes: readonly [first: number, others: number];
}

const MAX_TEXT = 120;
const MAX_UNITS = 2n ** 256n - 1n;
/** Digits that people type whatever their page's locale is, each system from its zero on. */
const DIGITS: Record<string, number> = {
  latn: 0x30,
  fullwide: 0xff10,
  arab: 0x660,
  arabext: 0x6f0,
  deva: 0x966,
  beng: 0x9e6,
};
/** What is never a decimal sign, so it can group digits everywhere. */
const SPACE = '\u00a0';
const APOSTROPHE = '’';
/** The two conventions that share signs with opposite meanings. */
const POINT: Convention = { decimal: '.', group: ',', sizes: [3, 3] };
const COMMA: Convention = { decimal: ',', group: '.', sizes: [3, 3] };
const THREE_DIGITS = 3;
const TEN_DIGITS = [...Array(10).keys()];

/**
 * Reads what a person typed or pasted, by the locale's own signs. Never guesses: "10,5" is not 105 in any locale, but
 * 10.5 or `ambiguous`. Exact: no amount passes through a floating-point number.
 */
export function parseAmount(text: string, { decimals, locale }: AmountRules): ParsedAmount {
  const none = (reason: AmountProblem, readings: readonly bigint[] = []): ParsedAmount => ({
    ok: false,
    reason,
    readings,
  });
  if (text.length > MAX_TEXT) return none('too_long');
  const plain = normalized(text);
  if (plain === '') return none('empty');
  if (/^[-−﹣–(]/.test(plain)) return none('negative');
  const found = digitsOf(plain, locale);
  if (!found) return none('malformed');
  if (/^[\d.,’\u00a0]+\u00a0?[eE×^]/.test(found.text)) return none('exponent');
  const own = conventionOf(locale, found.system);
  const number = numberOf(found.text, own);
  if (number === undefined) {
    const readings = [own, POINT, COMMA]
      .map((convention) => numberOf(found.text, convention, true))
      .map((each) => each && unitsOf(each, decimals))
      .filter((each): each is bigint => typeof each === 'bigint' && each > 0n);
    return readings.length > 0 ? none('ambiguous', [...new Set(readings)]) : none('malformed');
  }
  const units = unitsOf(number, decimals);
  if (typeof units === 'string') return none(units);
  if (units === 0n) return none('zero');
  const alternative = otherReading(found.text, units, decimals);
  return { ok: true, units, ...(alternative !== undefined && { alternative }) };
}

/** An amount as people of that locale write it. What is cut off to nothing is shown as less than the smallest. */
export function formatAmount(
  amount: bigint | string,
  { decimals, locale, digits = decimals }: AmountFormat,
): string {
  const units = BigInt(amount);
  const numbers = numbersOf(locale);
  const ownDigits = localDigits(numbers);
  const { decimal } = conventionOf(locale, numbers.resolvedOptions().numberingSystem);
  const written = (whole: bigint, fraction: string): string =>
    numbers.format(whole) +
    (fraction && decimal + fraction.replace(/\d/g, (digit) => ownDigits[Number(digit)]));
  const text = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0');
  const whole = BigInt(text.slice(0, text.length - decimals));
  const fraction = text.slice(text.length - decimals, text.length - decimals + digits).replace(/0+$/, '');
  const minus = numbers.formatToParts(-1).find(({ type }) => type === 'minusSign')?.value ?? '-';
  const sign = units < 0n ? minus : '';
  if (units === 0n || whole > 0n || fraction !== '') return sign + written(whole, fraction);
  return `${units < 0n ? `>${minus}` : '<'}${digits === 0 ? written(1n, '') : written(0n, '1'.padStart(digits, '0'))}`;
}

/** One form of each sign. Marks of direction are not seen, so they do not count; those that reorder text do. */
const normalized = (text: string): string =>
  text
    .replace(/[\u200e\u200f\u061c\u2066-\u2069]/g, '')
    .trim()
    .replace(/[\u0020\u00a0\u2007\u2009\u202f]/g, SPACE)
    .replace(/['\u2019\u02bc\uff07]/g, APOSTROPHE)
    .replace(/\uff0c/g, ',')
    .replace(/\uff0e/g, '.');

/** The text with ASCII digits, and the system that it was written in: one, or it is no number. */
function digitsOf(text: string, locale?: string): { text: string; system: string } | undefined {
  const numbers = numbersOf(locale);
  const systems = new Map(
    Object.entries(DIGITS).map(([system, zero]) => [
      system,
      TEN_DIGITS.map((digit) => String.fromCodePoint(zero + digit)),
    ]),
  );
  systems.set(numbers.resolvedOptions().numberingSystem, localDigits(numbers));
  const chars = [...text];
  const used = [...systems].filter(([, digits]) => chars.some((char) => digits.includes(char)));
  if (used.length !== 1) return undefined;
  const [system, digits] = used[0];
  const plain = chars.map((char) => (digits.includes(char) ? digits.indexOf(char) : char));
  return { text: plain.join(''), system };
}

/** From 0 to 9. */
const localDigits = (numbers: Intl.NumberFormat): string[] =>
  TEN_DIGITS.map((digit) => numbers.formatToParts(digit).find(({ type }) => type === 'integer')!.value);

/** @param loose any grouping by one sign, for readings that are only proposed */
function numberOf(
  text: string,
  { decimal, group, sizes: [first, others] }: Convention,
  loose = false,
): { whole: string; fraction: string } | undefined {
  const [whole, fraction = '', ...more] = text.split(decimal);
  if (more.length > 0 || !/^\d*$/.test(fraction) || (text.includes(decimal) && fraction === ''))
    return undefined;
  if (/^\d+$/.test(whole) || (whole === '' && fraction !== '')) return { whole, fraction };
  const sign = [group, SPACE, APOSTROPHE].find((each) => whole.includes(each));
  if (sign === undefined) return undefined;
  const groups = whole.split(sign);
  if (!groups.every((each) => /^\d+$/.test(each))) return undefined;
  const lengths = groups.map((each) => each.length);
  const fits = (last: number, rest: number): boolean =>
    lengths[0] <= rest &&
    lengths.slice(1).every((each, at) => each === (at === lengths.length - 2 ? last : rest));
  const proper = (fits(first, others) || fits(THREE_DIGITS, THREE_DIGITS)) && !groups[0].startsWith('0');
  // A sign that occurs twice cannot be a decimal sign.
  const likely = loose && groups.length > 2 && lengths.every((each) => each <= THREE_DIGITS);
  return proper || (likely && lengths.at(-1) === THREE_DIGITS)
    ? { whole: groups.join(''), fraction }
    : undefined;
}

function unitsOf(
  { whole, fraction }: { whole: string; fraction: string },
  decimals: number,
): bigint | 'too_precise' | 'too_large' {
  const digits = fraction.replace(/0+$/, '');
  if (digits.length > decimals) return 'too_precise';
  const units = BigInt(`${whole}${digits.padEnd(decimals, '0')}` || '0');
  return units > MAX_UNITS ? 'too_large' : units;
}

/** One sign with three digits behind it is a decimal sign in one half of the world and groups in the other. */
function otherReading(text: string, units: bigint, decimals: number): bigint | undefined {
  const [, before, after] = /^([1-9]\d{0,2})[.,](\d{3})$/.exec(text) ?? [];
  if (before === undefined) return undefined;
  return [`${before}.${after}`, `${before}${after}`]
    .map((plain) => unitsOf(numberOf(plain, POINT)!, decimals))
    .find((each): each is bigint => typeof each === 'bigint' && each !== units);
}

function conventionOf(locale: string | undefined, system: string): Convention {
  const numberingSystem = system === 'fullwide' ? 'latn' : system;
  const parts = numbersOf(locale, numberingSystem).formatToParts(12345678901.5);
  const sign = (type: string): string => normalized(parts.find((part) => part.type === type)?.value ?? '');
  const groups = parts.filter(({ type }) => type === 'integer').map(({ value }) => [...value].length);
  return {
    decimal: sign('decimal') || '.',
    group: sign('group') || SPACE,
    sizes: [groups.at(-1) ?? THREE_DIGITS, groups.at(-2) ?? THREE_DIGITS],
  };
}

/** A locale that the platform does not know is that of the page or process. */
function numbersOf(locale?: string, numberingSystem?: string): Intl.NumberFormat {
  const options = { numberingSystem, maximumFractionDigits: 1 };
  try {
    return new Intl.NumberFormat(locale, options);
  } catch {
    return new Intl.NumberFormat(undefined, options);
  }
}
