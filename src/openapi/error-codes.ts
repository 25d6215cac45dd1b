import { ERROR_CODES, type ErrorCode } from '../common/errors';

/** What the document says of an error: its text, and when it comes. */
export interface NamedError {
  /** The text in `error`. */
  error: string;
  summary: string;
  details?: { field: string; message: string }[];
}

const named = (error: string, summary: string, details?: NamedError['details']): NamedError => ({
  error,
  summary,
  ...(details && { details }),
});

/** Every error of the service by its code. Texts and details are examples of what clients get. */
export const ERRORS = {
  validation_failed: named('Validation failed', 'A field or parameter is missing or wrong', [
    { field: 'limit', message: 'must not be greater than 100' },
  ]),
  invalid_json: named('Validation failed', 'The body is not JSON', [
    { field: 'request', message: 'request is malformed' },
  ]),
  malformed_path: named('Validation failed', 'The path is not a valid percent-encoding', [
    { field: 'path', message: 'is not a valid percent-encoding' },
  ]),
  bad_request: named('Bad Request', 'Refused for another reason, which the text gives'),
  deposit_below_minimum: named(
    'Initial deposit below minimum',
    'The deposit is smaller than the service accepts',
  ),
  invalid_token: named('Invalid token', 'There is no token, or not one of this service'),
  token_expired: named('Invalid token', 'The token is older than seven days: sign in again'),
  token_revoked: named('Invalid token', 'The session was ended, or its user deleted: sign in again'),
  authentication_failed: named(
    'Authentication failed',
    'Message, signature or nonce are not good; why is only in the log',
  ),
  unauthorized: named('Unauthorized', 'Refused for another reason'),
  forbidden: named('Forbidden', 'The caller may not do this, or not see it'),
  owner_cannot_leave: named('The owner cannot leave the pool', 'The caller owns the pool'),
  cross_site_request: named('Forbidden', 'A web page of a foreign origin had the browser send it'),
  not_found: named('Not found', 'There is no such thing'),
  no_open_draw: named('Not found', 'No lottery draw is open'),
  idempotency_in_progress: named(
    'A request with this Idempotency-Key is still running',
    'The first request with this key has no answer yet',
  ),
  transaction_not_pending: named(
    'Transaction is not pending',
    'The deposit is on the chain already, or has expired',
  ),
  conflict: named('Conflict', 'It contradicts the present state'),
  payload_too_large: named('Payload too large', 'The body is larger than 64 KiB'),
  unsupported_media_type: named('Unsupported media type', 'The body is not application/json'),
  idempotency_key_reused: named(
    'Idempotency-Key was used for another request',
    'The first request with this key had another body',
  ),
  rate_limited_general: named('Too many requests from this IP', 'The limit of all requests is reached'),
  rate_limited_auth: named('Too many login attempts', 'The limit of requests to /auth is reached'),
  rate_limited: named('Too many requests from this IP', 'Another limit is reached'),
  too_many_connections: named('Too many connections', 'The caller has too many event streams open'),
  internal_error: named('Internal server error', 'A fault of the service'),
  unavailable: named('Service unavailable', 'The database did not answer in time'),
  busy: named('Service unavailable', 'Too many contract wallets are being checked: send it again'),
  chain_unknown: named('Service unavailable', 'The indexer has not seen the chain yet'),
} satisfies Record<ErrorCode, NamedError>;

/** What is wrong, for an endpoint to name: a status stands for the usual errors that have it. */
export type DocumentedError = number | ErrorCode;

export const statusOf = (error: DocumentedError): number =>
  typeof error === 'number' ? error : ERROR_CODES[error];

/** The usual errors of a status. */
export function usualErrors(status: number, path: string, hasBody: boolean): ErrorCode[] {
  const usual: Record<number, ErrorCode[]> = {
    400: hasBody ? ['validation_failed', 'invalid_json'] : ['validation_failed'],
    401: ['invalid_token', 'token_expired', 'token_revoked'],
    403: ['forbidden', 'cross_site_request'],
    404: ['not_found'],
    409: ['conflict'],
    413: ['payload_too_large'],
    415: ['unsupported_media_type'],
    422: ['idempotency_key_reused'],
    429: path.startsWith('/auth/') ? ['rate_limited_general', 'rate_limited_auth'] : ['rate_limited_general'],
    500: ['internal_error'],
    503: ['unavailable'],
  };
  return usual[status] ?? [];
}

/** As the service answers it. */
export const errorBody = (code: ErrorCode): Record<string, unknown> => {
  const { error, details }: NamedError = ERRORS[code];
  return { success: false, error, code, ...(details && { details }) };
};
