/** Pages served from the developer's own machine. */
const LOCAL = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/** Origins whose pages may read answers: those listed, and in development also every origin of this machine. */
export const allowedOrigins = (listed: string[], isDevelopment: boolean): (string | RegExp)[] =>
  isDevelopment ? [...listed, LOCAL] : listed;

export const isListedOrigin = (listed: (string | RegExp)[], origin = ''): boolean =>
  listed.some((each) => (typeof each === 'string' ? each === origin : each.test(origin)));
