/** An endpoint that asks for more is asked again after this. */
const MOST_MS = 60_000;

/**
 * How long an endpoint wants to be left alone, by its answer (RFC 9110): so many seconds, or until a date, which counts
 * by the endpoint's own clock where it tells it.
 * @returns undefined if it does not say
 */
export function retryAfterMs(headers: Headers, now = Date.now()): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  const theirs = Date.parse(headers.get('date') ?? '');
  const ms = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : Date.parse(text) - (Number.isNaN(theirs) ? now : theirs);
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MOST_MS);
}
