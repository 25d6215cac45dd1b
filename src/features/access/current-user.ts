import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import { JsonText } from '#platform/answers/json-text';
import { invalidToken } from '#platform/errors/errors';

/** Claims of a verified token about its bearer. */
export interface AuthenticatedUser {
  userId: string;
  /** Lower-cased. */
  address: string;
}

/** A sign-in as its token describes it. */
export interface Session extends AuthenticatedUser {
  /** UUID: the token's `jti`. */
  sessionId: string;
  /** The user's generation of sessions. `POST /auth/logout/all` starts the next one. */
  generation: number;
  /** Unix time in seconds; the end of the year 9999 at the latest. */
  exp: number;
  /** The chain of the message that was signed. A token may come without. */
  chainId?: number;
}

export const CurrentUser = createParamDecorator(
  (_: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<{ user: Session }>().user,
);

/** The answer to a user. @throws ApiError 401 without a row: the user no longer exists */
export function ofUser<T>(row: { data: string } | undefined): JsonText<T> {
  if (!row) throw invalidToken('token_revoked');
  return new JsonText(row.data);
}
