import { ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { invalidToken } from '../common/errors';
import { Environment } from '../config/environment';
import type { CurrentUser } from './current-user';

type Access = 'always' | 'LOTTERY_PUBLIC';
const PUBLIC = 'public';

/** Opens an endpoint, or a controller, to callers without a token: always, or when the named setting is on. */
export const Public = (when: Access = 'always'): MethodDecorator & ClassDecorator =>
  SetMetadata(PUBLIC, when);

type Verified = CurrentUser & { exp: number };
const MAX_VERIFIED = 10_000;
/** Characters; tokens of this service have about 250. */
const MAX_HEADER = 1024;

/**
 * Requires a bearer token. A token verified once is remembered until it expires: verification by passport costs
 * more than the rest of a request, and tokens cannot be revoked.
 */
@Injectable()
export class JwtAuthGuard extends AuthGuard('jwt') {
  private readonly verified = new Map<string, Verified>();
  /** By handler, as reading its metadata takes longer than all the rest here. */
  private readonly open = new Map<unknown, boolean>();

  constructor(
    private readonly reflector: Reflector,
    private readonly environment: Environment,
  ) {
    super();
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (this.isOpen(context)) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest & { user?: CurrentUser }>();
    const header = request.headers.authorization ?? '';
    const known = this.verified.get(header);
    if (known && known.exp > Date.now() / 1000) {
      request.user = known;
      return true;
    }
    return this.verify(context, header);
  }

  private isOpen(context: ExecutionContext): boolean {
    const handler = context.getHandler();
    let open = this.open.get(handler);
    if (open === undefined) {
      const access = this.reflector.getAllAndOverride<Access | undefined>(PUBLIC, [
        handler,
        context.getClass(),
      ]);
      open = access === 'always' || (access !== undefined && this.environment[access]);
      this.open.set(handler, open);
    }
    return open;
  }

  private async verify(context: ExecutionContext, header: string): Promise<boolean> {
    await super.canActivate(context);
    // Passport takes a header with more in it than a token; remembering those would let a client fill the memory.
    if (header.length > MAX_HEADER) return true;
    const { user } = context.switchToHttp().getRequest<{ user: Verified }>();
    this.verified.delete(header);
    if (this.verified.size >= MAX_VERIFIED) {
      // The oldest entry, since a Map keeps the order of insertion.
      const [oldest] = this.verified.keys();
      if (oldest !== undefined) this.verified.delete(oldest);
    }
    this.verified.set(header, user);
    return true;
  }

  override handleRequest<User>(error: unknown, user: User | false): User {
    if (error || !user) throw invalidToken();
    return user;
  }
}
