import { type AmountProblem, formatAmount, parseAmount } from '@pooled-savings/client';

export interface Token {
  address: string;
  symbol: string;
  decimals: number;
}

const SHOWN_DIGITS = 4;

/** An amount for people, as their locale writes numbers: at most four digits after the decimal sign. */
export const amountText = (units: string | bigint, { decimals }: Token): string =>
  formatAmount(units, { decimals, digits: SHOWN_DIGITS });

export const withSymbol = (units: string | bigint, token: Token): string =>
  `${amountText(units, token)} ${token.symbol}`.trim();

/** Without a symbol an amount says nothing, so it is not told where the token is not known. */
export const amountOf = (units: string | bigint, token: Token | undefined): string =>
  token ? withSymbol(units, token) : '–';

/** All digits: for a field that the user can edit, and for what is about to be paid. */
export const exactText = (units: string | bigint, { decimals }: Token): string =>
  formatAmount(units, { decimals });

export const exactWithSymbol = (units: string | bigint, token: Token): string =>
  `${exactText(units, token)} ${token.symbol}`.trim();

const WRONG: Record<Exclude<AmountProblem, 'ambiguous'>, (token: Token) => string> = {
  empty: (token) => `Enter an amount, such as ${example(token)}`,
  malformed: (token) => `This is not an amount. Write it such as ${example(token)}`,
  negative: () => 'An amount cannot be negative',
  exponent: (token) => `Write all digits, such as ${example(token)}`,
  zero: () => 'Enter more than zero',
  too_precise: ({ decimals, symbol }) => `${symbol} has at most ${decimals} digits after the decimal sign`,
  too_large: () => 'This is more than any token can hold',
  too_long: () => 'This is too long for an amount',
};

/** What a text means by the locale, or what is wrong with it. Nothing is guessed. */
export function readAmount(
  text: string,
  token: Token,
): { units: bigint; alternative?: bigint } | { wrong: string } {
  const parsed = parseAmount(text, token);
  if (parsed.ok) return parsed;
  const { reason, readings } = parsed;
  if (reason !== 'ambiguous') return { wrong: WRONG[reason](token) };
  const texts = readings.map((each) => exactText(each, token));
  return { wrong: `Did you mean ${texts.join(' or ')}? Please write it so` };
}

/** With a fraction, so that it shows the decimal sign. */
const example = ({ decimals }: Token): string => formatAmount('125', { decimals: decimals === 0 ? 0 : 1 });

export const shortAddress = (address: string): string => `${address.slice(0, 6)}…${address.slice(-4)}`;

export const numberText = (number: number): string => number.toLocaleString();

export const dateText = (time: string): string =>
  new Date(time).toLocaleString(undefined, {
    day: 'numeric',
    month: 'short',
    hour: 'numeric',
    minute: '2-digit',
  });
