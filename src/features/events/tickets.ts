import { Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { Database } from '#platform/database/database';
import { invalidToken } from '#platform/errors/errors';
import type { Session } from '#features/access/current-user';
import type { EventTicket } from './events.dto';
import { ISSUE_TICKET, REDEEM_TICKET } from './events.sql';

const LIFETIME_SECONDS = 30;
const digestOf = (ticket: string): string => createHash('sha256').update(ticket).digest('hex');

/**
 * Tickets replace the token where a client cannot send headers. URLs get into logs, so a ticket works once and expires
 * soon.
 */
@Injectable()
export class Tickets {
  constructor(private readonly database: Database) {}

  async issue(session: Session): Promise<EventTicket> {
    const ticket = randomBytes(24).toString('base64url');
    const row = await this.database.write(ISSUE_TICKET, {
      digest: digestOf(ticket),
      session: JSON.stringify(session),
      seconds: LIFETIME_SECONDS,
    });
    return { ticket, expiresAt: row!.expiresAt };
  }

  /** @throws ApiError 401 when the ticket is unknown, used or expired */
  async redeem(ticket: string): Promise<Session> {
    const row = await this.database.write(REDEEM_TICKET, { digest: digestOf(ticket) });
    if (!row || row.session.exp <= Date.now() / 1000) throw invalidToken();
    return row.session;
  }
}
