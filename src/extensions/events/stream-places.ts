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
  private readonly byUser = new Map<string, number>();
  private readonly byAddress = new Map<string, number>();
  private open = 0;

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
    const { byUser, byAddress } = this;
    const address = clientKey(ip);
    if (countOf(byUser, userId) >= EVENT_STREAMS_PER_USER) throw namedError('too_many_connections');
    if (countOf(byAddress, address) >= EVENT_STREAMS_PER_ADDRESS) throw namedError('too_many_connections');
    if (this.open >= EVENT_STREAMS_PER_PROCESS) throw namedError('busy');
    const change = (by: 1 | -1): void => {
      add(byUser, userId, by);
      add(byAddress, address, by);
      this.gauge.set((this.open += by));
    };
    change(1);
    return () => change(-1);
  }

  /** Replaces the log line and the metric of a finished request. */
  report(reply: FastifyReply, reason: EndReason): void {
    this.ended.inc({ reason });
    const { request, elapsedTime } = reply;
    request.log.info({ ...lineOf(request), reason, ms: Math.round(elapsedTime) }, 'event stream ended');
  }
}

const countOf = (counts: Map<string, number>, key: string): number => counts.get(key) ?? 0;

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = countOf(counts, key) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
