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
  bad_request: named(400, 'Bad Request', 'Another invalid request; the text gives the reason'),
  deposit_below_minimum: named(400, 'Initial deposit below minimum', 'Less than the minimum of the service'),
  below_minimum: named(
    400,
    'Below the minimum of the contract',
    'Less than the minimum of the contract, and not the whole balance',
    [{ field: 'amount', message: 'must be at least 1000000000000000000' }],
  ),
  invalid_token: named(401, 'Invalid token', 'The token is missing, or is not a token of this service'),
  token_expired: named(401, 'Invalid token', 'The token is older than seven days: sign in again'),
  token_revoked: named(401, 'Invalid token', 'The session has ended, or its user was deleted: sign in again'),
  authentication_failed: named(
    401,
    'Authentication failed',
    'Message, signature or nonce is invalid; the log has the reason',
  ),
  unauthorized: named(401, 'Unauthorized', 'Another refusal of the token'),
  forbidden: named(403, 'Forbidden', 'The caller lacks the right to do or see this'),
  owner_cannot_leave: named(403, 'The owner cannot leave the pool', 'The caller owns the pool'),
  sign_in_again: named(403, 'Sign in again first', 'This needs a sign-in from the last ten minutes'),
  cross_site_request: named(403, 'Forbidden', 'A web page of an untrusted origin sent the request'),
  not_found: named(404, 'Not found', 'The resource does not exist'),
  no_open_draw: named(404, 'Not found', 'No lottery draw is open'),
  no_circle: named(404, 'Not found', 'The pool has no savings circle, or is of a type that has none'),
  idempotency_in_progress: named(
    409,
    'A request with this Idempotency-Key is still running',
    'The first request with this key is still running',
  ),
  transaction_not_pending: named(
    409,
    'The deposit is not pending',
    'The deposit is on the chain, or has expired',
  ),
  wrong_draw_status: named(409, 'The draw has another status', 'The call needs a draw of another status'),
  too_early: named(409, 'It is too early', 'The contract does not accept the call yet'),
  already_paid: named(409, 'The prize is already paid', 'The winner has the prize'),
  nothing_to_refund: named(409, 'Nothing to refund', 'The caller paid nothing, or has been refunded'),
  deposit_submitted: named(
    409,
    'The payment of the deposit was already sent',
    'A payment is on its way: wait for it, or clear its hash if the wallet dropped it',
  ),
  insufficient_balance: named(409, 'Insufficient pool balance', 'The caller has less than this in the pool'),
  nothing_to_claim: named(409, 'No yield to claim', 'The caller has no unclaimed yield in the pool'),
  calls_unknown: named(
    409,
    "This call is unavailable for the pool's contract",
    'The service knows no such call of the contract, or the contract has no number for the pool yet',
  ),
  contract_refuses: named(
    409,
    'The contract would refuse it',
    'The contract is paused, for example, or at a limit',
    [{ field: 'calls', message: 'deposit: EnforcedPause()' }],
  ),
  compounding_unchanged: named(
    409,
    'Compounding already has this setting',
    'The contract has this setting for the caller',
  ),
  uses_circle: named(409, 'Use the calls of the circle for this pool', 'The pool is a savings circle'),
  circle_exists: named(409, 'The pool already has a circle', 'A pool has one savings circle'),
  wrong_circle_state: named(
    409,
    'The circle is in another state',
    'The call needs the circle in another state',
  ),
  already_done: named(
    409,
    'Already joined, or round already paid',
    'The caller has already joined the circle, or paid for its round',
  ),
  too_late: named(409, 'It is too late', 'The time to join the circle, or to pay for its round, is over'),
  nothing_in_circle: named(409, 'Nothing to claim from the circle', 'The circle owes the caller nothing'),
  pool_exists: named(
    409,
    'The pool already exists',
    'The contract has one pool, or one for each account, and it exists',
  ),
  pool_not_empty: named(409, 'A funded pool cannot be cancelled', 'The pool was paid into'),
  webhook_not_active: named(
    409,
    'The webhook is not active',
    'The webhook is unverified, paused or disabled',
  ),
  webhook_test_pending: named(409, 'A test is already pending', 'The previous test has not been sent yet'),
  conflict: named(409, 'Conflict', 'Conflicts with the current state'),
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
    'The pool of this key was cancelled: use another key to create another one',
  ),
  rate_limited_general: named(429, 'Too many requests from this IP', 'The general rate limit is exceeded'),
  rate_limited_auth: named(429, 'Too many login attempts', 'The rate limit of /auth is exceeded'),
  rate_limited: named(429, 'Too many requests from this IP', 'The rate limit of this endpoint is exceeded'),
  too_many_connections: named(
    429,
    'Too many open event streams',
    'The caller, or its client address, has too many event streams',
  ),
  internal_error: named(500, 'Internal server error', 'A fault of the service; the log has the reason'),
  unavailable: named(503, 'Service unavailable', 'The database did not answer in time; nothing was changed'),
  outcome_unknown: named(
    503,
    'Service unavailable',
    'The connection to the database was lost during a write, which may have been done, or may still be',
  ),
  busy: named(
    503,
    'Service unavailable',
    'Too many checks of contract wallets, or too many event streams: retry',
  ),
  chain_unknown: named(503, 'The chain is not known yet', 'The indexer has not seen the chain yet'),
};

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];
