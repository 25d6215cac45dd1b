import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { validationFailed } from '#platform/errors/errors';
import type { Session } from '#features/access/current-user';
import { Sessions } from '#features/access/sessions';
import type { LogoutAllResponse, LogoutResponse } from './auth.dto';

/** Ends sessions, whichever path was asked. */
@Injectable()
export class SignOut {
  constructor(private readonly sessions: Sessions) {}

  async one(session: Session, request: FastifyRequest): Promise<LogoutResponse> {
    await this.sessions.end(session);
    request.log.info({ reqId: request.id, address: session.address }, 'signed out');
    return { ended: 'session' };
  }

  /** @param endWebhooks of the body; absent is false */
  async all(session: Session, endWebhooks: unknown, request: FastifyRequest): Promise<LogoutAllResponse> {
    const ended = endWebhooks ?? false;
    if (typeof ended !== 'boolean')
      throw validationFailed({ field: 'webhooks', message: 'must be a boolean value' });
    await this.sessions.endAll(session);
    request.log.info({ reqId: request.id, address: session.address }, 'signed out everywhere');
    const webhooks = await this.sessions.webhooksOf(session.userId, ended);
    return { ended: 'all', webhooks: webhooks.map(({ id, url }) => ({ id, url, ended })) };
  }
}
