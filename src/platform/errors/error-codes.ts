/** An error: its status, the text in `error`, and when it occurs. */
export interface NamedError {
  status: number;
  error: string;
  summary: string;
  /** An example. */
  details?: { field: string; message: string }[];
}

const named = (
  status: number,
  error: string,
  summary: string,
  details?: NamedError['details'],
): NamedError => ({ status, error, summary, ...(details && { details }) });

/**
 * Every error of the service by its code. Clients tell errors apart by the code, so a code keeps its meaning and its
 * status. `error` is the usual text.
 */
export const ERRORS = {
  validation_failed: named(400, 'Validation failed', 'A field or parameter is missing or wrong', [
    { field: 'limit', message: 'must not be greater than 100' },
  ]),
  invalid_json: named(400, 'Validation failed', 'The body is not JSON', [
    { field: 'request', message: 'request is malformed' },
  ]),
  malformed_path: named(400, 'Validation failed', 'The path is not a valid percent-encoding', [
    { field: 'path', message: 'is not a valid percent-encoding' },
  ]),
  bad_request: named(400, 'Bad Request', 'Refused for another reason, which the text gives'),
  deposit_below_minimum: named(
    400,
    'Initial deposit below minimum',
    'The deposit is smaller than the service accepts',
  ),
  below_minimum: named(
    400,
    'Below the minimum of the contract',
    "The contract would refuse it: it is less than the contract's minimum, and does not empty the account",
    [{ field: 'amount', message: 'must be at least 1000000000000000000' }],
  ),
  invalid_token: named(401, 'Invalid token', 'There is no token, or not one of this service'),
  token_expired: named(401, 'Invalid token', 'The token is older than seven days: sign in again'),
  token_revoked: named(401, 'Invalid token', 'The session was ended, or its user deleted: sign in again'),
  authentication_failed: named(
    401,
    'Authentication failed',
    'Message, signature or nonce are not good; why is in the log, and in development in `reason`',
  ),
  unauthorized: named(401, 'Unauthorized', 'Refused for another reason'),
  forbidden: named(403, 'Forbidden', 'The caller may not do this, or not see it'),
  owner_cannot_leave: named(403, 'The owner cannot leave the pool', 'The caller owns the pool'),
  sign_in_again: named(403, 'Sign in again first', 'It takes a sign-in that is less than ten minutes old'),
  cross_site_request: named(403, 'Forbidden', 'A web page of a foreign origin had the browser send it'),
  not_found: named(404, 'Not found', 'There is no such thing'),
  no_open_draw: named(404, 'Not found', 'No lottery draw is open'),
  no_circle: named(404, 'Not found', 'The pool has no savings circle, or is of a type that has none'),
  idempotency_in_progress: named(
    409,
    'A request with this Idempotency-Key is still running',
    'The first request with this key has no answer yet',
  ),
  transaction_not_pending: named(
    409,
    'The deposit is not pending',
    'The deposit is on the chain already, or has expired',
  ),
  wrong_draw_status: named(409, 'The draw has another status', 'The call needs a draw of another status'),
  too_early: named(409, 'It is too early', 'The contract takes the call only later'),
  already_paid: named(409, 'The prize is paid already', 'The winner has the prize'),
  nothing_to_refund: named(
    409,
    'Nothing to refund',
    'The caller has paid nothing into this draw that is not back already',
  ),
  deposit_submitted: named(
    409,
    'The payment of the deposit was sent already',
    'A payment is on its way: wait for it, or take it back if the wallet dropped it',
  ),
  insufficient_balance: named(
    409,
    'The account has less in the pool',
    'The contract would refuse it: the caller has less than that in the pool',
  ),
  nothing_to_claim: named(
    409,
    'There is no yield to claim',
    'The contract would refuse it: the caller has no yield in the pool that is not claimed yet',
  ),
  calls_unknown: named(
    409,
    'The calls are not known',
    'The contract of the pool has no such call that is known here, or no number for the pool yet',
  ),
  compounding_unchanged: named(
    409,
    'It is so already',
    'The contract would refuse it: whether yield is paid in again is as the caller wants it',
  ),
  uses_circle: named(
    409,
    'Money moves by the calls of the circle',
    'The contract of the pool holds a savings circle: its members join, contribute and claim',
  ),
  circle_exists: named(409, 'The pool has a circle already', 'A pool has one savings circle'),
  wrong_circle_state: named(
    409,
    'The circle is in another state',
    'The call needs a circle that is joined still, that runs, or that is over',
  ),
  already_done: named(
    409,
    'It is done already',
    'The caller has joined the circle already, or paid for its round',
  ),
  too_late: named(409, 'It is too late', 'The time for joining the circle, or of its round, is over'),
  nothing_in_circle: named(
    409,
    'There is nothing to claim from the circle',
    'No pot of the circle and nothing that it gives back is due to the caller',
  ),
  pool_exists: named(
    409,
    'There is a pool already',
    'The contract has one pool for each account, and the caller has made it, or it is one pool, and that is made',
  ),
  pool_not_empty: named(409, 'The pool was paid into', 'Money was paid into the pool, so it stays'),
  webhook_not_active: named(
    409,
    'The webhook is not active',
    'The webhook has not answered its challenge, is paused, or disabled',
  ),
  webhook_test_pending: named(409, 'A test waits already', 'The test before has not been sent yet'),
  conflict: named(409, 'Conflict', 'It contradicts the present state'),
  payload_too_large: named(413, 'Payload too large', 'The body is larger than 64 KiB'),
  unsupported_media_type: named(415, 'Unsupported media type', 'The body is not application/json'),
  idempotency_key_reused: named(
    422,
    'Idempotency-Key was used for another request',
    'The first request with this key had another body',
  ),
  pool_cancelled: named(
    422,
    'The pool of this Idempotency-Key was cancelled',
    'The first request with this key made a pool that its owner has cancelled since: another key makes another',
  ),
  rate_limited_general: named(429, 'Too many requests from this IP', 'The limit of all requests is reached'),
  rate_limited_auth: named(429, 'Too many login attempts', 'The limit of requests to /auth is reached'),
  rate_limited: named(429, 'Too many requests from this IP', 'Another limit is reached'),
  too_many_connections: named(
    429,
    'Too many open event streams',
    'The caller, or the address that it calls from, has too many event streams open',
  ),
  internal_error: named(500, 'Internal server error', 'A fault of the service'),
  unavailable: named(503, 'Service unavailable', 'The database did not answer in time; nothing was changed'),
  outcome_unknown: named(
    503,
    'Service unavailable',
    'The connection to the database was lost during a write: it may have been done, or may still be',
  ),
  busy: named(
    503,
    'Service unavailable',
    'Too many contract wallets are being checked, or too many event streams are open: send it again',
  ),
  chain_unknown: named(503, 'The chain is not known yet', 'The indexer has not seen the chain yet'),
};

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];
