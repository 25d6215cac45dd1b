import { Body, Controller, Get, HttpException, Post, Req } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import { Throttle } from '@nestjs/throttler';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { FastifyRequest } from 'fastify';
import type { Counter } from 'prom-client';
import type { JsonText } from '#platform/answers/json-text';
import { TopLevelCopy } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { authenticationFailed, namedError } from '#platform/errors/errors';
import { SparedBy } from '#platform/limits/rate-limiter';
import { ApiData } from '#platform/openapi/api-docs';
import { JwtAuthGuard, Public } from '#features/access/auth.guard';
import { type AuthenticatedUser, CurrentUser, type Session, ofUser } from '#features/access/current-user';
import {
  LogoutAllRequest,
  LogoutAllResponse,
  LogoutResponse,
  MAX_MESSAGE,
  NonceRequest,
  NonceResponse,
  VerifyRequest,
  VerifyResponse,
} from './auth.dto';
import { AuthService } from './auth.service';
import { AuthSettings } from './auth.settings';
import { SignInRefused } from './sign-in-refused';
import { scanSiweMessage } from './siwe';
import { MeResponse, Profile } from './users.dto';
import { ME, PROFILE, tokenOf } from './users.sql';

/*
 * Nonces and signing out have two paths each, documented alike. The limit of `/auth` guards against attempts to sign in
 * and is low. Pages use the paths under `/users`, as libraries of wallets request a nonce at each load of a page.
 */

type Documentation = Parameters<typeof ApiData>[1];

const LIMITS = 'Requests under `/users` do not count toward the limit of `/auth`.';

const NONCE_FOR: Documentation = {
  summary: 'Get a nonce for a wallet',
  description: `Returns a nonce for the EIP-4361 message that the wallet signs: for this address only, once, within 600 seconds. A second nonce does not cancel the first. ${LIMITS}`,
  topLevelCopy: true,
  errors: [400, 413, 415],
};

const NONCE: Documentation = {
  summary: 'Get a nonce for any wallet',
  description: `Returns a nonce that signs in whichever wallet signs a message with it. ${LIMITS}`,
  topLevelCopy: true,
};

const SIGN_OUT: Documentation = {
  summary: 'Sign out',
  description:
    'Ends the session of the token, at every replica within a second; from then on the token is 401. A valid token can do this five times in a window beyond the rate limits.',
  errors: ['invalid_json', 401, 413, 415],
};

const SIGN_OUT_EVERYWHERE: Documentation = {
  summary: 'Sign out everywhere',
  description:
    'Ends all sessions of the caller, on all devices. Webhooks belong to no session: the response lists them, and `{"webhooks": true}` deletes them.',
  errors: [400, 'invalid_json', 401, 413, 415],
};

@Controller('auth')
@Throttle({ auth: {} })
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly database: Database,
    private readonly settings: AuthSettings,
    @InjectMetric('sign_ins_total') private readonly signIns: Counter<'result'>,
  ) {}

  @Post('nonce')
  @Public()
  @ApiData(NonceResponse, NONCE_FOR)
  async nonceFor(@Body() { address }: NonceRequest): Promise<TopLevelCopy<NonceResponse>> {
    return new TopLevelCopy(await this.auth.issueNonce(address));
  }

  @Get('nonce')
  @Public()
  @ApiData(NonceResponse, NONCE)
  async nonce(): Promise<TopLevelCopy<NonceResponse>> {
    return new TopLevelCopy(await this.auth.issueNonce());
  }

  @Post('verify')
  @Public()
  @ApiBody({ type: VerifyRequest })
  @ApiData(VerifyResponse, {
    summary: 'Sign in with a signed message',
    description:
      'Verifies the EIP-4361 message, exactly as signed, and its signature (EIP-191, EIP-1271 or ERC-6492). Returns the bearer token of all other requests. Every failure returns the same 401 and leaves the nonce valid.',
    topLevelCopy: true,
    errors: [400, 'authentication_failed', 413, 415, 'busy'],
  })
  async verify(
    @Body() body: Partial<Record<keyof VerifyRequest, unknown>> | null | undefined,
    @Req() request: FastifyRequest,
  ): Promise<TopLevelCopy<VerifyResponse>> {
    try {
      const result = await this.auth.verify(body?.message, body?.signature);
      this.signIns.inc({ result: 'success' });
      request.log.info({ reqId: request.id, address: result.user.address }, 'signed in');
      return new TopLevelCopy(result);
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error;
      const { reason } = error;
      this.signIns.inc({ result: reason });
      request.log.info(
        { reqId: request.id, reason, address: claimedAddress(body?.message) },
        'sign-in refused',
      );
      // The message may be valid, so the client should try again.
      throw reason === 'busy' ? namedError('busy') : this.failure(error);
    }
  }

  /** One text for every reason. A developer gets to know which: a wrong chain id hits everyone who copies an example. */
  private failure({ explanation }: SignInRefused): HttpException {
    const failed = authenticationFailed();
    if (this.settings.NODE_ENV !== 'development') return failed;
    const { message, code } = failed;
    return new HttpException({ message, code, reason: explanation }, failed.getStatus());
  }

  @Get('me')
  @ApiData(MeResponse, {
    summary: 'Get the current user',
    description: 'Returns the user of the token and their totals. Counts toward the limit of `/auth`.',
    errors: [401],
  })
  async me(@CurrentUser() { userId: user }: AuthenticatedUser): Promise<JsonText<MeResponse>> {
    return ofUser(await this.database.read(ME, { user }));
  }

  @Post('logout')
  @SparedBy(JwtAuthGuard)
  @ApiData(LogoutResponse, SIGN_OUT)
  logout(@CurrentUser() session: Session, @Req() request: FastifyRequest): Promise<LogoutResponse> {
    return this.auth.logout(session, request);
  }

  @Post('logout/all')
  @SparedBy(JwtAuthGuard)
  @ApiBody({ type: LogoutAllRequest, required: false })
  @ApiData(LogoutAllResponse, SIGN_OUT_EVERYWHERE)
  logoutAll(
    @CurrentUser() session: Session,
    @Body('webhooks') webhooks: unknown,
    @Req() request: FastifyRequest,
  ): Promise<LogoutAllResponse> {
    return this.auth.logoutAll(session, webhooks, request);
  }
}

@Controller('users')
@ApiTags('Users')
export class UserSessionsController {
  constructor(private readonly auth: AuthService) {}

  @Post('nonce')
  @Public()
  @ApiData(NonceResponse, NONCE_FOR)
  async nonceFor(@Body() { address }: NonceRequest): Promise<TopLevelCopy<NonceResponse>> {
    return new TopLevelCopy(await this.auth.issueNonce(address));
  }

  @Get('nonce')
  @Public()
  @ApiData(NonceResponse, NONCE)
  async nonce(): Promise<TopLevelCopy<NonceResponse>> {
    return new TopLevelCopy(await this.auth.issueNonce());
  }

  @Post('me/logout')
  @SparedBy(JwtAuthGuard)
  @ApiData(LogoutResponse, SIGN_OUT)
  logout(@CurrentUser() session: Session, @Req() request: FastifyRequest): Promise<LogoutResponse> {
    return this.auth.logout(session, request);
  }

  @Post('me/logout/all')
  @SparedBy(JwtAuthGuard)
  @ApiBody({ type: LogoutAllRequest, required: false })
  @ApiData(LogoutAllResponse, SIGN_OUT_EVERYWHERE)
  logoutAll(
    @CurrentUser() session: Session,
    @Body('webhooks') webhooks: unknown,
    @Req() request: FastifyRequest,
  ): Promise<LogoutAllResponse> {
    return this.auth.logoutAll(session, webhooks, request);
  }
}

@Controller('users')
export class UsersController {
  constructor(private readonly database: Database) {}

  @Get('me')
  @ApiData(Profile, {
    summary: 'Get the current user and session',
    description:
      'As `/auth/me`, with the expiry of the token and the chain that was signed in with. Does not count toward the limit of `/auth`, so pages can request it at each load.',
    errors: [401],
  })
  async profile(@CurrentUser() session: Session): Promise<JsonText<Profile>> {
    return ofUser(await this.database.read(PROFILE, { user: session.userId, ...tokenOf(session) }));
  }
}

/** For the log: the address that the message claims. Anyone can claim any, but it is an address or undefined. */
const claimedAddress = (message: unknown): string | undefined =>
  typeof message === 'string' && message.length <= MAX_MESSAGE
    ? scanSiweMessage(message)?.address
    : undefined;
