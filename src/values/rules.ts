/** EVM address in any case; checksums are not required on input. */
export const ADDRESS = /^0x[a-fA-F0-9]{40}$/;
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const TX_HASH = /^0x[a-fA-F0-9]{64}$/;

/** Pattern of addresses that the service stores and answers. `is_address` of the database is the same rule. */
export const STORED_ADDRESS = '^0x[0-9a-f]{40}$';
/** Pattern of amounts in JSON: decimal digits, in smallest token units. */
export const AMOUNT = '^\\d+$';

/** The largest uint256. */
export const MAX_AMOUNT = 2n ** 256n - 1n;

/**
 * Canonical decimal form of an amount in smallest token units: no leading zeros.
 * @returns undefined for anything but decimal digits up to 2^256-1
 */
export function canonicalAmount(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return undefined;
  const digits = value.replace(/^0+(?=\d)/, '');
  if (digits.length > 78 || BigInt(digits) > MAX_AMOUNT) return undefined;
  return digits;
}

/** Parts: day, time with up to nanoseconds, zone. A day alone means its start in UTC. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d))?$/;

/**
 * The first millisecond since 1970 that is not before an ISO 8601 time.
 * @returns undefined for anything else, and for days that do not exist
 */
export function parseTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const [, day, time = '00:00', fraction = '', zone = 'Z'] = TIME.exec(value) ?? [];
  // Date.parse reads the 30th of February as the 2nd of March.
  if (!day || !isDay(day)) return undefined;
  const ms = Date.parse(`${day}T${time}${zone}`) + Math.ceil(Number(fraction.padEnd(9, '0')) / 1_000_000);
  return Number.isNaN(ms) ? undefined : ms;
}

function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
