/**
 * Seconds to wait before the next request, by a Retry-After header (RFC 9110): a number, or a date in GMT, which is
 * compared with the Date header, or with the clock of this process if there is none.
 * @returns undefined if the header is missing or invalid
 */
export function retryAfterOf(
  value: string | null | undefined,
  date: string | null | undefined,
  mostSeconds: number,
): number | undefined {
  const text = value ?? '';
  const begin = Date.parse(date ?? '') || Date.now();
  const isNumber = /^\d+(\.\d+)?$/.test(text);
  const seconds = isNumber ? Number(text) : text.endsWith('GMT') ? (Date.parse(text) - begin) / 1000 : NaN;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), mostSeconds);
}
