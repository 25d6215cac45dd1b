import { ERRORS, type ErrorCode, type NamedError } from '#platform/errors/error-codes';

/** An error that an endpoint documents: a code, or a status for its usual errors. */
export type DocumentedError = number | ErrorCode;

export const statusOf = (error: DocumentedError): number =>
  typeof error === 'number' ? error : ERRORS[error].status;

/** The usual errors of a status. */
export function usualErrors(status: number, path: string, hasBody: boolean, reads: boolean): ErrorCode[] {
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
    503: reads ? ['unavailable'] : ['unavailable', 'outcome_unknown'],
  };
  return usual[status] ?? [];
}

/** The error as the service sends it. */
export const errorBody = (code: ErrorCode): Record<string, unknown> => {
  const { error, details }: NamedError = ERRORS[code];
  return { success: false, error, message: error, code, ...(details && { details }) };
};
