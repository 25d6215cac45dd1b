import type { Logger } from '@nestjs/common';
import { AUDIENCES, type LedgerEvent, subjectOf } from './ledger-event';

/** If the event is still there after this time, no process of a newer version is running. */
const GIVE_UP_MS = 3_600_000;

/**
 * Keeps a reader of the outbox from passing events whose topic this version does not know. While replicas are replaced
 * one after another, the older ones stop before such an event and leave it to the newer ones. If none takes it within an
 * hour, because the newer version was rolled back, this process passes the topic from then on.
 */
export class UnknownTopics {
  private readonly told = new Set<string>();
  private readonly givenUp = new Set<string>();
  /** The event before which the reader stands, and since when. */
  private stop?: { id: string; since: number };

  constructor(
    private readonly logger: Logger,
    private readonly reader: string,
  ) {}

  /** The index of the first event before which the reader has to stop; else the number of events. */
  endOf(events: LedgerEvent[]): number {
    const place = events.findIndex((event) => !this.mayPass(event));
    return place < 0 ? events.length : place;
  }

  private mayPass(event: LedgerEvent): boolean {
    const topic: string = subjectOf(event);
    if (Object.hasOwn(AUDIENCES, topic) || this.givenUp.has(topic)) return true;
    const now = performance.now();
    if (this.stop?.id !== event.id) this.stop = { id: event.id, since: now };
    if (now - this.stop.since >= GIVE_UP_MS) {
      this.givenUp.add(topic);
      this.logger.error(
        `${this.reader} passes "${topic}" from now on: event ${event.id} was unclaimed for an hour`,
      );
      return true;
    }
    if (!this.told.has(topic))
      this.logger.warn(`${this.reader} leaves "${topic}" to a newer version, from event ${event.id} on`);
    this.told.add(topic);
    return false;
  }
}
