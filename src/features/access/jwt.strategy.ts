import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { PassportStrategy } from '@nestjs/passport';
import { createHash } from 'node:crypto';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { ADDRESS, UUID } from '#values/rules';
import { AccessSettings } from './access.settings';
import type { Session } from './current-user';

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
