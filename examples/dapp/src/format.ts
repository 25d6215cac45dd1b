import { type ParsedAmount, formatAmount, parseAmount } from '@pooled-savings/client';

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

/** All digits: for a field that the user can edit, and for what is about to be paid. */
export const exactText = (units: string | bigint, { decimals }: Token): string =>
  formatAmount(units, { decimals });

type Refused = Extract<ParsedAmount, { ok: false }>;

function wrongText({ reason, readings }: Refused, token: Token): string {
  // With a fraction, so that it shows the decimal sign.
  const example = formatAmount('125', { decimals: token.decimals === 0 ? 0 : 1 });
  switch (reason) {
    case 'ambiguous':
      return `Did you mean ${readings.map((each) => exactText(each, token)).join(' or ')}? Please write it so`;
    case 'negative':
      return 'An amount cannot be negative';
    case 'zero':
      return 'Enter more than zero';
    case 'too_precise':
      return `${token.symbol} has at most ${token.decimals} digits after the decimal sign`;
    case 'too_large':
    case 'too_long':
      return 'This is more than any token can hold';
    case 'empty':
    case 'exponent':
    case 'malformed':
      return `Write an amount such as ${example}`;
  }
}

/** What a text means by the locale, or what is wrong with it. Nothing is guessed. */
export function readAmount(
  text: string,
  token: Token,
): { units: bigint; alternative?: bigint; wrong?: undefined } | { units?: undefined; wrong: string } {
  const parsed = parseAmount(text, token);
  return parsed.ok ? parsed : { wrong: wrongText(parsed, token) };
}

export const shortAddress = (address: string): string => `${address.slice(0, 6)}…${address.slice(-4)}`;

export const countText = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

const DATE = new Intl.DateTimeFormat(undefined, {
  ...{ day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' },
} as const);

export const dateText = (time: string | number): string => DATE.format(new Date(time));
