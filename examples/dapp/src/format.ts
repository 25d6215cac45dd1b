import { formatUnits, parseUnits } from 'viem';

export interface Token {
  address: string;
  symbol: string;
  decimals: number;
}

const SHOWN_DIGITS = 4;

/** An amount for people: grouped digits, at most four after the point, and "<0.0001" for anything smaller. */
export function amountText(units: string | bigint, { decimals }: Token): string {
  const value = BigInt(units);
  const [whole, fraction = ''] = formatUnits(value, decimals).split('.');
  const shown = fraction.slice(0, SHOWN_DIGITS).replace(/0+$/, '');
  if (value > 0n && whole === '0' && shown === '') return '<0.0001';
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return shown ? `${grouped}.${shown}` : grouped;
}

export const withSymbol = (units: string | bigint, token: Token): string =>
  `${amountText(units, token)} ${token.symbol}`.trim();

/** All digits, for a field that the user can edit. */
export const exactText = (units: string | bigint, { decimals }: Token): string =>
  formatUnits(BigInt(units), decimals);

/** @returns undefined if the text is not a positive amount of this token */
export function parseAmount(text: string, { decimals }: Token): bigint | undefined {
  const plain = text.trim().replaceAll(',', '');
  if (!/^\d+(\.\d+)?$/.test(plain)) return undefined;
  if ((plain.split('.')[1] ?? '').length > decimals) return undefined;
  const value = parseUnits(plain, decimals);
  return value > 0n ? value : undefined;
}

export const shortAddress = (address: string): string => `${address.slice(0, 6)}…${address.slice(-4)}`;

export const dateText = (time: string): string =>
  new Date(time).toLocaleString(undefined, {
    day: 'numeric',
    month: 'short',
    hour: 'numeric',
    minute: '2-digit',
  });
