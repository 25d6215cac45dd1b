import { ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { JwtService, TokenExpiredError } from '@nestjs/jwt';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { ADDRESS, UUID } from '#values/rules';
import { ApiError, invalidToken } from '#platform/errors/errors';
import type { Sparing } from '#platform/limits/rate-limiter';
import { AccessSettings } from './access.settings';
import type { Session } from './current-user';
import { type Known, Sessions } from './sessions';

type AuthenticatedRequest = FastifyRequest & { user?: Session };

type Access = 'always' | 'LOTTERY_PUBLIC' | 'PUBLIC_STATISTICS';
const PUBLIC = 'public';

/** Opens an endpoint or a controller to callers without a token: always, or when one of the named settings is on. */
export const Public = (...when: Access[]): MethodDecorator & ClassDecorator =>
  SetMetadata(PUBLIC, when.length > 0 ? when : ['always']);

/**
 * Requires a bearer token of a live session. A verified token is remembered until it expires, because verification by
 * passport costs more than the rest of a request.
 */
@Injectable()
export class JwtAuthGuard extends AuthGuard('jwt') implements Sparing {
  constructor(
    private readonly reflector: Reflector,
    private readonly environment: AccessSettings,
    private readonly sessions: Sessions,
  ) {
    super();
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.isOpen(context) || this.authenticate(context);
  }

  /** Requires the token even where the endpoint is open: for guards that also accept something else. */
  authenticate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const known = this.sessions.verified(request.headers.authorization ?? '');
    if (known && this.sessions.isProven(known)) {
      request.user = known.session;
      return true;
    }
    return this.check(context).then((session) => {
      request.user = session;
      return true;
    });
  }

  /** The session that the token names, which may have ended. */
  nameOf(context: ExecutionContext): Promise<string | undefined> {
    return unlessRefused(async () => (await this.knownOf(context)).session.sessionId);
  }

  /** @throws the error of pg when the database is down */
  async mayPass(context: ExecutionContext): Promise<boolean> {
    return (await unlessRefused(() => this.check(context))) !== undefined;
  }

  private isOpen(context: ExecutionContext): boolean {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access[] | undefined>(PUBLIC, targets);
    return access?.some((each) => each === 'always' || this.environment[each]) ?? false;
  }

  /** The token's session. @throws ApiError 401 unless it is live */
  private async check(context: ExecutionContext): Promise<Session> {
    const known = await this.knownOf(context);
    if (!this.sessions.isProven(known)) await this.sessions.check(known);
    return known.session;
  }

  /** @throws ApiError 401 without a valid token */
  private async knownOf(context: ExecutionContext): Promise<Known> {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const { authorization = '' } = request.headers;
    const known = this.sessions.verified(authorization);
    if (known) return known;
    await super.canActivate(context);
    const session = request.user as Session;
    // A request with a user counts as authenticated, in the log too, so the user is set only after the session's check.
    request.user = undefined;
    return this.sessions.remember(authorization, session);
  }

  /** @param reason the error of passport-jwt, which checks the expiry only of tokens with a valid signature */
  override handleRequest<User>(error: unknown, user: User | false, reason: unknown): User {
    if (error || !user)
      throw invalidToken(reason instanceof TokenExpiredError ? 'token_expired' : 'invalid_token');
    return user;
  }
}

/** @returns undefined if the token is refused */
async function unlessRefused<Result>(look: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof ApiError && error.getStatus() === 401) return undefined;
    throw error;
  }
}

/** PostgreSQL's largest integer. */
const MAX_GENERATION = 2 ** 31 - 1;
/** The year 9999: ISO 8601 writes no later one with four digits, and PostgreSQL refuses much later times. */
const LAST_TIME_S = 253_402_300_799;
const tokenOf = ExtractJwt.fromAuthHeaderAsBearerToken();

/**
 * Verifies bearer tokens (RFC 7519, HS256 only). While secrets are rotated, tokens signed with the previous secret
 * stay valid.
 */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy) {
  constructor(environment: AccessSettings, jwt: JwtService) {
    const { JWT_SECRET, JWT_PREVIOUS_SECRET } = environment;
    super({
      jwtFromRequest: tokenOf,
      algorithms: ['HS256'],
      passReqToCallback: true,
      secretOrKeyProvider: (
        _: unknown,
        token: string,
        done: (error: Error | null, secret: string) => void,
      ) => {
        const previous = JWT_PREVIOUS_SECRET;
        done(null, previous && isSignedWith(jwt, token, previous) ? previous : JWT_SECRET);
      },
    });
  }

  /** @returns false, which refuses the token, when the claims are not those that this service writes */
  validate(request: Parameters<typeof tokenOf>[0], claims: Record<string, unknown>): Session | false {
    const { userId, address, exp, chainId, generation = 0, jti = digestId(tokenOf(request) ?? '') } = claims;
    if (typeof userId !== 'string' || !UUID.test(userId)) return false;
    if (typeof address !== 'string' || !ADDRESS.test(address)) return false;
    if (typeof exp !== 'number') return false;
    if (typeof generation !== 'number' || !Number.isInteger(generation)) return false;
    if (generation < 0 || generation > MAX_GENERATION) return false;
    if (typeof jti !== 'string' || !UUID.test(jti)) return false;
    return {
      userId: userId.toLowerCase(),
      address: address.toLowerCase(),
      exp: Math.min(exp, LAST_TIME_S),
      chainId: Number.isSafeInteger(chainId) ? (chainId as number) : undefined,
      generation,
      sessionId: jti.toLowerCase(),
    };
  }
}

/** Replaces a missing `jti`, so that the token can be revoked. Unlike the signature, this part has one encoding. */
function digestId(token: string): string {
  const signed = token.slice(0, token.lastIndexOf('.'));
  const hex = createHash('sha256').update(signed).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

function isSignedWith(jwt: JwtService, token: string, secret: string): boolean {
  try {
    jwt.verify(token, { secret, algorithms: ['HS256'], ignoreExpiration: true });
    return true;
  } catch {
    return false;
  }
}
