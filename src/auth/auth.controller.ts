import { Body, Controller, Get, HttpCode, Post, Req } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { FastifyRequest } from 'fastify';
import type { Counter } from 'prom-client';
import { ApiData } from '../common/api-docs';
import { ApiError } from '../common/errors';
import type { JsonText } from '../common/json-text';
import { LegacyEnvelope } from '../common/pagination';
import { MeResponse, NonceRequest, NonceResponse, VerifyRequest, VerifyResponse } from './auth.dto';
import { Public } from './auth.guard';
import { AuthService } from './auth.service';
import { CurrentUser, User } from './current-user';
import { SignInRefused } from './siwe';

@Controller('auth')
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    @InjectMetric('sign_ins_total') private readonly signIns: Counter<'result'>,
  ) {}

  @Post('nonce')
  @HttpCode(200)
  @Public()
  @ApiData(NonceResponse, { bareCopy: true, errors: [400, 413, 415] })
  async nonceFor(@Body() { address }: NonceRequest): Promise<LegacyEnvelope<NonceResponse>> {
    return new LegacyEnvelope(await this.auth.issueNonce(address));
  }

  @Get('nonce')
  @Public()
  @ApiData(NonceResponse, { bareCopy: true })
  async nonce(): Promise<LegacyEnvelope<NonceResponse>> {
    return new LegacyEnvelope(await this.auth.issueNonce());
  }

  @Post('verify')
  @HttpCode(200)
  @Public()
  @ApiBody({ type: VerifyRequest })
  @ApiData(VerifyResponse, { bareCopy: true, errors: [400, 401, 413, 415] })
  async verify(
    @Body() body: Partial<Record<keyof VerifyRequest, unknown>> | null | undefined,
    @Req() request: FastifyRequest,
  ): Promise<LegacyEnvelope<VerifyResponse>> {
    try {
      const result = await this.auth.verify(body?.message, body?.signature);
      this.signIns.inc({ result: 'success' });
      return new LegacyEnvelope(result);
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error;
      this.signIns.inc({ result: error.reason });
      request.log.info({ reqId: request.id, reason: error.reason }, 'sign-in refused');
      throw new ApiError(401, 'Authentication failed');
    }
  }

  @Get('me')
  @ApiData(MeResponse, { errors: [401] })
  me(@User() user: CurrentUser): Promise<JsonText<MeResponse>> {
    return this.auth.me(user);
  }
}
