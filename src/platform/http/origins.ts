/** Pages served from the developer's own machine. */
const LOCAL = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/** Origins whose pages may read answers: those listed, and in development also every origin of this machine. */
export const allowedOrigins = (listed: string[], isDevelopment: boolean): (string | RegExp)[] =>
  isDevelopment ? [...listed, LOCAL] : listed;

/**
 * Whether an item of CORS_ORIGINS can match what a browser sends: `*`, or an origin as RFC 6454 serializes it (lower
 * case, no default port, no path). Pages of apps have schemes of their own, as in `capacitor://localhost`.
 */
export function isOriginRule(item: string): boolean {
  if (item === '*') return true;
  if (/^https?:/i.test(item)) return URL.parse(item)?.origin === item && !item.includes('*');
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#A-Z*]+$/.test(item);
}

export const isListedOrigin = (listed: (string | RegExp)[], origin = ''): boolean =>
  listed.some((each) => (typeof each === 'string' ? each === origin : each.test(origin)));
