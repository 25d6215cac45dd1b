import { type ExecutionContext, createParamDecorator } from '@nestjs/common';

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
