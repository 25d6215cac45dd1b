import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { FastifyReply } from 'fastify';
import type { Counter, Gauge } from 'prom-client';
import { namedError } from '#platform/errors/errors';
import { clientKey } from '#platform/http/client-address';
import { lineOf } from '#platform/log/request-line';
import { END_REASONS, type EndReason } from './event-stream';
import { EventsSettings } from './events.settings';

/** How many streams are open: of each user and client address, and in this process. Logs when one ends, and why. */
@Injectable()
export class StreamPlaces {
  private readonly open = new Set<{ user: string; address: string }>();

  constructor(
    private readonly environment: EventsSettings,
    @InjectMetric('event_streams_open') private readonly gauge: Gauge,
    @InjectMetric('event_streams_ended_total') private readonly ended: Counter<'reason'>,
  ) {
    for (const reason of END_REASONS) ended.inc({ reason }, 0);
  }

  /**
   * @param ip as the rate limits see it
   * @returns a function that gives the place back
   * @throws ApiError 429 when the user or the client address has too many, 503 when the process has
   */
  take(userId: string, ip: string): () => void {
    const { EVENT_STREAMS_PER_USER, EVENT_STREAMS_PER_ADDRESS, EVENT_STREAMS_PER_PROCESS } = this.environment;
    const place = { user: userId, address: clientKey(ip) };
    const open = [...this.open];
    const ofUser = open.filter(({ user }) => user === place.user).length;
    const ofAddress = open.filter(({ address }) => address === place.address).length;
    if (ofUser >= EVENT_STREAMS_PER_USER || ofAddress >= EVENT_STREAMS_PER_ADDRESS)
      throw namedError('too_many_connections');
    if (open.length >= EVENT_STREAMS_PER_PROCESS) throw namedError('busy');
    this.gauge.set(this.open.add(place).size);
    return () => {
      this.open.delete(place);
      this.gauge.set(this.open.size);
    };
  }

  /** Replaces the log line and the metric of a finished request. */
  report(reply: FastifyReply, reason: EndReason): void {
    this.ended.inc({ reason });
    const { request, elapsedTime } = reply;
    request.log.info({ ...lineOf(request), reason, ms: Math.round(elapsedTime) }, 'event stream ended');
  }
}
