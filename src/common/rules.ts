/** EVM address in any case; checksums are not required on input. */
export const ADDRESS = /^0x[a-fA-F0-9]{40}$/;
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const TX_HASH = /^0x[a-fA-F0-9]{64}$/;

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
