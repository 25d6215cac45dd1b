import { Controller, Get, Headers, Post, Query, Res, UseGuards } from '@nestjs/common';
import { ApiExtraModels, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { ApiData, ApiEndpoint } from '#platform/openapi/api-docs';
import { EVENT_MODELS } from '#ledger/outbox/event-models';
import { RELOAD, TOPICS } from '#ledger/outbox/ledger-event';
import { Public } from '#features/access/auth.guard';
import { CurrentUser, type Session } from '#features/access/current-user';
import { EventHub } from './event-hub';
import { EventStream } from './event-stream';
import { EventTicket, EventsQuery, STREAM } from './events.dto';
import { StreamPlaces } from './stream-places';
import { Tickets } from './tickets';

/** Must be longer than the time between pings. Other requests have a shorter limit. */
const SOCKET_TIMEOUT_MS = 60_000;
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // A proxy that compresses would hold events back until it has enough of them.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

const EXAMPLE = `id: 0000000003e9-000000000011-0001
event: draw.closed
data: {"id":"0000000003e9-000000000011-0001","topic":"draw.closed","drawId":7}
`;

@Controller('events')
@ApiExtraModels(...EVENT_MODELS)
export class EventsController {
  constructor(
    private readonly hub: EventHub,
    private readonly places: StreamPlaces,
    private readonly tickets: Tickets,
  ) {}

  @Post('ticket')
  @ApiData(EventTicket, {
    status: 201,
    summary: 'Create a ticket for the event stream',
    description:
      'Returns a ticket for `EventSource`, which sends no headers. It opens one stream, within 30 seconds, at any replica.',
    errors: ['invalid_json', 401, 413, 415],
  })
  ticket(@CurrentUser() session: Session): Promise<EventTicket> {
    return this.tickets.issue(session);
  }

  @Get()
  @Public()
  @UseGuards(Tickets)
  @ApiEndpoint({
    summary: 'Stream events',
    description:
      "Streams Server-Sent Events of the caller's pools, payments and tickets, and of all draws. `Last-Event-ID` resumes after that event; the event `reload` reports a gap, after which clients read again. Needs a token or a ticket.",
    errors: [400, 401, 'too_many_connections', 503, 'busy'],
  })
  @ApiResponse({
    status: 200,
    description: 'Long-lived event stream',
    content: { 'text/event-stream': { schema: STREAM, example: EXAMPLE } },
  })
  async follow(
    @CurrentUser() session: Session,
    @Query() query: EventsQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (reply.request.method === 'HEAD') {
      // As GET would begin, without a stream that never ends.
      await reply.headers(STREAM_HEADERS).send();
      return;
    }
    const leave = this.places.take(session.userId, reply.request.ip ?? '');
    try {
      const { cursor, present, isGap } = await this.hub.locate(lastEventId || query.lastEventId);
      const { raw } = reply.hijack();
      reply.isReported = true;
      raw.socket?.setTimeout(SOCKET_TIMEOUT_MS);
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        ...STREAM_HEADERS,
      });
      const stream = new EventStream(session, new Set([RELOAD, ...(query.topics ?? TOPICS)]), raw, cursor);
      if (isGap) stream.reload(present);
      const remove = this.hub.add(stream, present);
      raw.once('close', () => {
        remove();
        leave();
        this.places.report(reply, stream.endReason);
      });
      // The client may have left already.
      if (raw.destroyed) raw.emit('close');
    } catch (error) {
      leave();
      throw error;
    }
  }
}
