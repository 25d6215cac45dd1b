import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { JwtService, TokenExpiredError } from '@nestjs/jwt';
import type { FastifyRequest } from 'fastify';
import { type KeyObject, createHash, createSecretKey } from 'node:crypto';
import { ADDRESS, UUID } from '#values/rules';
import { ApiError, invalidToken } from '#platform/errors/errors';
import type { Sparing } from '#platform/limits/rate-limiter';
import { AccessSettings } from './access.settings';
import type { Session } from './current-user';
import { type Known, Sessions } from './sessions';

type Access = 'always' | 'LOTTERY_PUBLIC' | 'PUBLIC_STATISTICS';
const PUBLIC = 'public';

/** Opens an endpoint or a controller to callers without a token: always, or when one of the named settings is on. */
export const Public = (...when: Access[]): MethodDecorator & ClassDecorator =>
  SetMetadata(PUBLIC, when.length > 0 ? when : ['always']);

/** PostgreSQL's largest integer. */
const MAX_GENERATION = 2 ** 31 - 1;
/** The year 9999: ISO 8601 writes no later one with four digits, and PostgreSQL refuses much later times. */
const LAST_TIME_S = 253_402_300_799;

/**
 * Requires the bearer token (RFC 7519, HS256 only) of a live session. A verified token is remembered until it expires,
 * because verification costs more than the rest of many requests. While secrets are rotated, tokens signed with the
 * previous secret stay valid.
 */
@Injectable()
export class JwtAuthGuard implements CanActivate, Sparing {
  /**
   * By controller, then by handler: classes that are no HTTP controllers, such as gateways, share inherited methods.
   * Kept because reading their metadata takes longer than everything else here.
   */
  private readonly open = new Map<unknown, Map<unknown, boolean>>();
  private readonly keys: KeyObject[];

  constructor(
    private readonly reflector: Reflector,
    private readonly environment: AccessSettings,
    private readonly sessions: Sessions,
    private readonly jwt: JwtService,
  ) {
    this.keys = [environment.JWT_SECRET, environment.JWT_PREVIOUS_SECRET]
      .filter((secret) => secret !== undefined)
      .map((secret) => createSecretKey(secret, 'utf8'));
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.isOpen(context) || this.authenticate(context);
  }

  /** Requires the token even where the endpoint is open: for guards that also accept something else. */
  authenticate(context: ExecutionContext): boolean | Promise<boolean> {
    const known = this.tokenOf(context);
    // A user set here counts as authenticated, in the log too, so it is set only after the check.
    const letIn = (): boolean => {
      context.switchToHttp().getRequest<{ user?: Session }>().user = known.session;
      return true;
    };
    return this.sessions.isProven(known) ? letIn() : this.sessions.check(known).then(letIn);
  }

  /** The session that the token names, which may have ended. */
  nameOf(context: ExecutionContext): Promise<string | undefined> {
    return unlessRefused(() => this.tokenOf(context).session.sessionId);
  }

  /** @throws the error of pg when the database is down */
  async mayPass(context: ExecutionContext): Promise<boolean> {
    const passed = await unlessRefused(async () => {
      const known = this.tokenOf(context);
      if (!this.sessions.isProven(known)) await this.sessions.check(known);
      return true;
    });
    return passed === true;
  }

  private isOpen(context: ExecutionContext): boolean {
    const controller = context.getClass();
    const handler = context.getHandler();
    let open = this.open.get(controller)?.get(handler);
    if (open === undefined) {
      const access =
        this.reflector.getAllAndOverride<Access[] | undefined>(PUBLIC, [handler, controller]) ?? [];
      open = access.some((each) => each === 'always' || this.environment[each]);
      this.open.set(controller, new Map(this.open.get(controller)).set(handler, open));
    }
    return open;
  }

  /** @throws ApiError 401 without a valid token */
  private tokenOf(context: ExecutionContext): Known {
    const { authorization = '' } = context.switchToHttp().getRequest<FastifyRequest>().headers;
    return (
      this.sessions.verified(authorization) ??
      this.sessions.remember(authorization, this.verify(authorization))
    );
  }

  private verify(authorization: string): Session {
    const token = /^bearer\s+(\S+)/i.exec(authorization)?.[1] ?? '';
    for (const key of this.keys)
      try {
        // The declared type leaves out keys, which jsonwebtoken takes: from a text it makes one each time.
        const secret = key as unknown as Buffer;
        const claims = this.jwt.verify<Record<string, unknown>>(token, { secret, algorithms: ['HS256'] });
        const session = sessionOf(claims, token);
        if (session) return session;
      } catch (error) {
        // Only tokens with a valid signature expire.
        if (error instanceof TokenExpiredError) throw invalidToken('token_expired');
      }
    throw invalidToken();
  }
}

/** @returns undefined if the token is refused */
async function unlessRefused<Result>(look: () => Result | Promise<Result>): Promise<Result | undefined> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof ApiError && error.getStatus() === 401) return undefined;
    throw error;
  }
}

/** @returns undefined when the claims are not those that this service writes */
function sessionOf(claims: Record<string, unknown>, token: string): Session | undefined {
  const { userId, address, exp, chainId, generation = 0, jti = digestId(token) } = claims;
  if (typeof userId !== 'string' || !UUID.test(userId)) return undefined;
  if (typeof address !== 'string' || !ADDRESS.test(address)) return undefined;
  if (typeof exp !== 'number') return undefined;
  if (typeof generation !== 'number' || !Number.isInteger(generation)) return undefined;
  if (generation < 0 || generation > MAX_GENERATION) return undefined;
  if (typeof jti !== 'string' || !UUID.test(jti)) return undefined;
  return {
    userId: userId.toLowerCase(),
    address: address.toLowerCase(),
    exp: Math.min(exp, LAST_TIME_S),
    chainId: Number.isSafeInteger(chainId) ? (chainId as number) : undefined,
    generation,
    sessionId: jti.toLowerCase(),
  };
}

/** Replaces a missing `jti`, so that the token can be revoked. Unlike the signature, this part has one encoding. */
function digestId(token: string): string {
  const signed = token.slice(0, token.lastIndexOf('.'));
  const hex = createHash('sha256').update(signed).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}
