import { Body, Controller, Get, HttpCode, Post, Req } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { TopLevelCopy } from '#platform/answers/pagination';
import { SparedBy } from '#platform/limits/rate-limiter';
import { ApiData } from '#platform/openapi/api-docs';
import { JwtAuthGuard, Public } from '#features/access/auth.guard';
import { CurrentUser, type Session } from '#features/access/current-user';
import { LogoutAllRequest, LogoutAllResponse, LogoutResponse, NonceRequest, NonceResponse } from './auth.dto';
import { AuthService } from './auth.service';
import { SignOut } from './sign-out';

/**
 * What pages do without anybody trying to sign in. The limit of `/auth` is there against attempts, and five requests
 * are few: libraries of wallets take a nonce at each load of a page. Attempts all end at `/auth/verify`.
 */
@Controller('users')
@ApiTags('Users')
export class UserSessionsController {
  constructor(
    private readonly auth: AuthService,
    private readonly signOut: SignOut,
  ) {}

  @Get('nonce')
  @Public()
  @ApiData(NonceResponse, {
    summary: 'Get a nonce for any wallet at each page load',
    description:
      'As `GET /auth/nonce`, but does not count toward the limit of `/auth`: for RainbowKit, ConnectKit and others that request a nonce before anybody signs in.',
    topLevelCopy: true,
  })
  async nonce(): Promise<TopLevelCopy<NonceResponse>> {
    return new TopLevelCopy(await this.auth.issueNonce());
  }

  @Post('nonce')
  @HttpCode(200)
  @Public()
  @ApiData(NonceResponse, {
    summary: 'Get a nonce for a wallet at each page load',
    description: 'As `POST /auth/nonce`, but does not count toward the limit of `/auth`.',
    topLevelCopy: true,
    errors: [400, 413, 415],
  })
  async nonceFor(@Body() { address }: NonceRequest): Promise<TopLevelCopy<NonceResponse>> {
    return new TopLevelCopy(await this.auth.issueNonce(address));
  }

  @Post('me/logout')
  @HttpCode(200)
  @SparedBy(JwtAuthGuard)
  @ApiData(LogoutResponse, {
    summary: 'Sign out',
    description: 'As `POST /auth/logout`, but does not count toward the limit of `/auth`.',
    errors: ['invalid_json', 401, 413, 415],
  })
  logout(@CurrentUser() session: Session, @Req() request: FastifyRequest): Promise<LogoutResponse> {
    return this.signOut.one(session, request);
  }

  @Post('me/logout/all')
  @HttpCode(200)
  @SparedBy(JwtAuthGuard)
  @ApiBody({ type: LogoutAllRequest, required: false })
  @ApiData(LogoutAllResponse, {
    summary: 'Sign out everywhere',
    description: 'As `POST /auth/logout/all`, but does not count toward the limit of `/auth`.',
    errors: [400, 'invalid_json', 401, 413, 415],
  })
  logoutAll(
    @CurrentUser() session: Session,
    @Body('webhooks') webhooks: unknown,
    @Req() request: FastifyRequest,
  ): Promise<LogoutAllResponse> {
    return this.signOut.all(session, webhooks, request);
  }
}
