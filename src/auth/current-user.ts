import { type ExecutionContext, createParamDecorator } from '@nestjs/common';

/** What a verified token says of its bearer. */
export interface CurrentUser {
  userId: string;
  /** Lower-cased. */
  address: string;
}

export const User = createParamDecorator(
  (_: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<{ user: CurrentUser }>().user,
);
