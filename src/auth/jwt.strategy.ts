import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { PassportStrategy } from '@nestjs/passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { ADDRESS, UUID } from '../common/rules';
import { Environment } from '../config/environment';
import type { CurrentUser } from './current-user';

/**
 * Verifies bearer tokens (RFC 7519, HS256 only). While secrets are rotated, tokens signed with the previous one
 * stay valid.
 */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy) {
  constructor(environment: Environment, jwt: JwtService) {
    const { JWT_SECRET, JWT_PREVIOUS_SECRET } = environment;
    super({
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      algorithms: ['HS256'],
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

  /** @returns false, which refuses the token, when the claims are not those of a token of this service */
  validate(claims: Record<string, unknown>): (CurrentUser & { exp: number }) | false {
    const { userId, address, exp } = claims;
    if (typeof userId !== 'string' || !UUID.test(userId)) return false;
    if (typeof address !== 'string' || !ADDRESS.test(address)) return false;
    if (typeof exp !== 'number') return false;
    return { userId, address: address.toLowerCase(), exp };
  }
}

function isSignedWith(jwt: JwtService, token: string, secret: string): boolean {
  try {
    jwt.verify(token, { secret, algorithms: ['HS256'], ignoreExpiration: true });
    return true;
  } catch {
    return false;
  }
}
