/**
 * Seconds for which an answer asks to be left alone (RFC 9110): so many, or until a date in GMT, which counts by the
 * clock of the one who answers where it says it.
 * @returns undefined if it does not say
 */
export function retryAfterOf(
  value: string | null | undefined,
  date: string | null | undefined,
  mostSeconds: number,
): number | undefined {
  const text = value ?? '';
  const begin = Date.parse(date ?? '') || Date.now();
  const isDate = text.endsWith('GMT');
  const seconds = /^\d+(\.\d+)?$/.test(text)
    ? Number(text)
    : isDate
      ? (Date.parse(text) - begin) / 1000
      : NaN;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), mostSeconds);
}
