import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { JwtAuthGuard } from '#features/access/auth.guard';
import type { Session } from '#features/access/current-user';
import { Tickets } from './tickets';

/** Accepts a ticket in the query, or else the token. */
@Injectable()
export class TicketGuard implements CanActivate {
  constructor(
    private readonly tickets: Tickets,
    private readonly tokens: JwtAuthGuard,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest & { user?: Session }>();
    const { ticket } = request.query as { ticket?: unknown };
    if (typeof ticket !== 'string') return this.tokens.authenticate(context);
    request.user = await this.tickets.redeem(ticket);
    return true;
  }
}
