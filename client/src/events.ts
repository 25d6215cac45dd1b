import { ApiError, NoAnswerError, type SavingsError, errorOf, isSavingsError } from './errors.js';
import { parseEvents } from './sse.js';
import type { Transport } from './transport.js';
import { backoff, wait } from './wait.js';

export type Topic =
  | 'pool.created'
  | 'deposit.confirmed'
  | 'withdrawal.confirmed'
  | 'yield.accrued'
  | 'yield.claimed'
  | 'deposit.expired'
  | 'transaction.reverted'
  | 'draw.opened'
  | 'draw.closed'
  | 'draw.completed'
  | 'draw.cancelled'
  | 'tickets.issued';

/** What happened. Amounts in smallest token units; fields that say nothing of a topic are left out. */
export interface EventPayload {
  /** Where it stands: what `lastEventId` takes. */
  readonly id: string;
  readonly topic: Topic;
  readonly occurredAt: string;
  readonly poolId?: string;
  readonly transactionId?: string;
  readonly transactionType?: 'DEPOSIT' | 'WITHDRAWAL' | 'YIELD_CLAIM';
  readonly txHash?: string;
  readonly blockNumber?: number;
  readonly account?: string;
  readonly amount?: string;
  readonly drawId?: number;
  readonly tickets?: string;
  readonly prize?: string;
  readonly winner?: string;
}

/** Events were missed: read anew what is shown. */
export interface ReloadEvent {
  readonly topic: 'reload';
  readonly id: string | null;
}

export type SavingsEvent = EventPayload | ReloadEvent;

export interface EventsOptions {
  /** Only these; all by default. */
  topics?: readonly Topic[];
  /** The id of the last event that was seen in another life, to go on after it. */
  lastEventId?: string;
  /** Each time a connection stands. */
  onConnected?: () => void;
  /** Each time a connection is lost, or was not to be had; it is tried again. */
  onDisconnected?: (error: unknown) => void;
  signal?: AbortSignal;
}

/** The service sends a sign of life every 15 s. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

/** @throws SavingsError for what trying again does not mend, such as a token that is good no more */
export async function* followEvents(
  transport: Transport,
  baseUrl: string,
  { topics, lastEventId, onConnected, onDisconnected, signal }: EventsOptions,
): AsyncGenerator<SavingsEvent, void, undefined> {
  let last = lastEventId ?? null;
  let attempt = 0;
  for (;;) {
    let lost: unknown;
    const silence = new AbortController();
    const ended = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(timer);
      timer = setTimeout(
        () => silence.abort(new NoAnswerError('the stream went silent', undefined)),
        SILENCE_MS,
      );
    };
    try {
      heard();
      const body = await connect(transport, baseUrl, topics, last, ended);
      attempt = 0;
      onConnected?.();
      for await (const { id, event, data } of parseEvents(body, heard)) {
        last = id ?? last;
        // Without an id to go on after, it begins anew.
        if (event === 'reload') last = id;
        yield event === 'reload' ? { topic: 'reload', id } : (JSON.parse(data) as EventPayload);
      }
      lost = new NoAnswerError('the stream ended', undefined);
    } catch (error) {
      signal?.throwIfAborted();
      if (isSavingsError(error) && !isTransient(error)) throw error;
      lost = error;
    } finally {
      clearTimeout(timer);
      // Whoever leaves the loop ends the connection.
      silence.abort();
    }
    onDisconnected?.(lost);
    const asked = lost instanceof ApiError ? (lost.retryAfterSeconds ?? 0) * 1000 : 0;
    await wait(Math.max(asked, backoff(++attempt, FIRST_WAIT_MS, MOST_WAIT_MS)), signal);
  }
}

/** A rolling restart, a limit, a network: these pass. */
const isTransient = (error: SavingsError): boolean =>
  !(error instanceof ApiError) || error.status === 429 || error.status >= 500;

async function connect(
  transport: Transport,
  baseUrl: string,
  topics: readonly Topic[] | undefined,
  last: string | null,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const query = topics ? `?topics=${topics.join(',')}` : '';
  const headers = { accept: 'text/event-stream', ...(last !== null && { 'last-event-id': last }) };
  const response = await transport.once(new Request(`${baseUrl}/events${query}`, { headers, signal }));
  if (!response.ok) throw await errorOf(response);
  if (!response.body) throw new NoAnswerError('an empty stream', response.status);
  return response.body;
}
