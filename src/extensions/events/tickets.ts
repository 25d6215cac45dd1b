import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { createHash, randomBytes } from 'node:crypto';
import { Database } from '#platform/database/database';
import { invalidToken } from '#platform/errors/errors';
import { JwtAuthGuard } from '#features/access/auth.guard';
import type { Session } from '#features/access/current-user';
import type { EventTicket } from './events.dto';
import { ISSUE_TICKET, REDEEM_TICKET } from './events.sql';

const digestOf = (ticket: string): string => createHash('sha256').update(ticket).digest('hex');

/**
 * Tickets replace the token where a client cannot send headers. URLs get into logs, so a ticket works once and expires
 * soon. As a guard it accepts a ticket in the query, or else the token.
 */
@Injectable()
export class Tickets implements CanActivate {
  constructor(
    private readonly database: Database,
    private readonly tokens: JwtAuthGuard,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest & { user?: Session }>();
    const { ticket } = request.query as { ticket?: unknown };
    if (typeof ticket !== 'string') return this.tokens.authenticate(context);
    request.user = await this.redeem(ticket);
    return true;
  }

  async issue(session: Session): Promise<EventTicket> {
    const ticket = randomBytes(24).toString('base64url');
    const row = await this.database.write(ISSUE_TICKET, {
      digest: digestOf(ticket),
      session: JSON.stringify(session),
    });
    return { ticket, expiresAt: row!.expiresAt };
  }

  /** @throws ApiError 401 when the ticket is unknown, used or expired */
  private async redeem(ticket: string): Promise<Session> {
    const row = await this.database.write(REDEEM_TICKET, { digest: digestOf(ticket) });
    if (!row || row.session.exp <= Date.now() / 1000) throw invalidToken();
    return row.session;
  }
}
