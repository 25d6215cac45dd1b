import { ApiError, NoAnswerError, isSavingsError } from './errors.js';
import type { components } from './schema.js';
import { guarded } from './observable.js';
import { type Transport, errorOf, isTransient } from './transport.js';
import { backoff, wait } from './wait.js';

type Event = components['schemas']['EventPayload'];

export type Topic = Event['topic'];

/** What happened; `topic` tells which fields there are. */
export type EventPayload<Name extends Topic = Topic> = Extract<Event, { topic: Name }>;

/** Events were missed: load again what you show. */
export interface ReloadEvent {
  topic: 'reload';
  /** The events that follow come after this one. */
  id: string | null;
}

export type SavingsEvent = EventOf<Topic>;
/** What a stream of these topics gives. */
export type EventOf<Name extends Topic> = EventPayload<Exclude<Name, 'reload'>> | ReloadEvent;

export interface EventsOptions<Name extends Topic = Topic> {
  /** Only these topics; all by default. */
  topics?: readonly Name[];
  /** Id of the last event that was seen in an earlier run, to continue after it. */
  lastEventId?: string;
  /** Called each time a stream has begun: no event after this is missed. */
  onConnected?: () => void;
  /** Called each time a connection is lost or fails; the client then tries again. */
  onDisconnected?: (error: unknown) => void;
  signal?: AbortSignal;
}

/** More for those who follow inside of this package. */
export interface StreamOptions<Name extends Topic = Topic> extends EventsOptions<Name> {
  /** Called for whatever arrives. A proxy that keeps everything back connects, too, and then gives nothing. */
  onAlive?: () => void;
}

/** The service sends a ping every 15 s: two of them are missing. */
const SILENCE_MS = 35_000;
const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;
/** The longest wait, even if the service asks for more. */
const MOST_ASKED_MS = 300_000;

/**
 * @throws SavingsError for failures that a retry does not fix, such as an invalid token; the wallet's error if signing
 * in again fails; or the signal's reason
 */
export async function* followEvents<Name extends Topic>(
  transport: Transport,
  baseUrl: string,
  { topics, lastEventId, onConnected, onDisconnected, onAlive, signal }: StreamOptions<Name>,
): AsyncGenerator<EventOf<Name>, void, undefined> {
  let last = lastEventId ?? null;
  let leastWaitMs = 0;
  let attempt = 0;
  for (;;) {
    let lost: unknown;
    let isConnected = false;
    let idHere: string | null = null;
    const silence = new AbortController();
    const ended = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChunk = (): void => {
      clearTimeout(timer);
      if (isConnected) {
        transport.connection.reached();
        onAlive?.();
      }
      timer = setTimeout(
        () => silence.abort(new NoAnswerError('the stream went silent', undefined)),
        SILENCE_MS,
      );
    };
    const onId = (id: string): void => {
      const isFirst = idHere === null;
      last = idHere = id;
      // Only now can the stream be continued without a gap.
      if (isFirst) guarded(onConnected)();
    };
    const onRetry = (ms: number): void => void (leastWaitMs = ms);
    try {
      onChunk();
      const query = topics ? `?topics=${topics.join(',')}` : '';
      const headers = { accept: 'text/event-stream', ...(last !== null && { 'last-event-id': last }) };
      const request = new Request(`${baseUrl}/events${query}`, { headers, signal: ended });
      const response = await transport.sent(request, { isStream: true });
      if (!response.ok) throw await errorOf(response);
      if (!response.body) throw new NoAnswerError('an empty stream', response.status);
      isConnected = true;
      attempt = 0;
      for await (const { event, data } of parseEvents(response.body, { onChunk, onId, onRetry })) {
        // The old id is no longer valid. If the service sends no new one, start from the beginning.
        if (event === 'reload') last = idHere;
        yield event === 'reload' ? { topic: 'reload', id: last } : (JSON.parse(data) as EventOf<Name>);
      }
      lost = new NoAnswerError('the stream ended', undefined);
    } catch (error) {
      signal?.throwIfAborted();
      // After the stream was connected, any failure is temporary. Before that, only known temporary failures are.
      if (isSavingsError(error) ? !isTransient(error) : !isConnected) throw error;
      lost = error;
    } finally {
      clearTimeout(timer);
      // Leaving the loop closes the connection.
      silence.abort();
    }
    guarded(onDisconnected)(lost);
    const askedMs = lost instanceof ApiError ? (lost.retryAfterSeconds ?? 0) * 1000 : 0;
    const pauseMs = Math.max(askedMs, leastWaitMs, backoff(++attempt, FIRST_WAIT_MS, MOST_WAIT_MS));
    await wait(Math.min(pauseMs, MOST_ASKED_MS), signal);
  }
}

export interface ServerSentEvent {
  event: string;
  data: string;
}

/** Callbacks for what a stream sends besides its events. */
export interface StreamSigns {
  /** Called for every chunk: the stream is alive. */
  onChunk?: () => void;
  /** Called with the id to continue after, before the event that carries it. An id may also come alone. */
  onId?: (id: string) => void;
  /** How long to wait before connecting again. */
  onRetry?: (ms: number) => void;
}

/** Parses `text/event-stream` as the HTML standard defines. Ends with the stream and drops an incomplete last event. */
export async function* parseEvents(
  stream: ReadableStream<Uint8Array>,
  { onChunk, onId, onRetry }: StreamSigns = {},
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let buffer = '';
  let id: string | undefined;
  let event = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      onChunk?.();
      buffer += decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line break.
      const lines = buffer.split(/\r\n|\n|\r(?!$)/);
      buffer = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (id !== undefined) onId?.(id);
          if (data.length > 0) yield { event: event || 'message', data: data.join('\n') };
          event = '';
          data = [];
          id = undefined;
          continue;
        }
        const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line)!;
        if (field === 'event') event = text;
        else if (field === 'data') data.push(text);
        else if (field === 'id' && !text.includes('\0')) id = text;
        else if (field === 'retry' && /^\d+$/.test(text)) onRetry?.(Number(text));
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
