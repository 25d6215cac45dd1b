/**
 * SQLSTATE classes and codes after which another try may succeed: connection exceptions (08), insufficient
 * resources (53), operator intervention (57: shutdown, statement timeout), lock not available (55P03). 26000: the
 * statement ahead of this one on its connection was to prepare it, and failed for such a reason.
 */
const SQLSTATE = /^(08...|53...|57...|26000|55P03|25P03|40001|40P01)$/;
const NETWORK = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;
/** pg reports these without a code. */
const MESSAGE =
  /timeout exceeded when trying to connect|Query read timeout|Connection terminated|connection timeout|Client has encountered a connection error|not queryable|Cannot use a pool after calling end|too many waiting/i;

/** Whether the database, and not the request, is the reason of the failure. */
export function isUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && (SQLSTATE.test(code) || NETWORK.test(code))) return true;
  return typeof message === 'string' && MESSAGE.test(message);
}
