import { ApiError, NoAnswerError, type SavingsError, errorOf, isSavingsError } from './errors.js';
import { parseEvents } from './sse.js';
import type { Transport } from './transport.js';
import { backoff, wait } from './wait.js';

/** A deposit, withdrawal or claim. */
interface TransactionPayload {
  poolId: string;
  transactionId: string;
  transactionType: 'DEPOSIT' | 'WITHDRAWAL' | 'YIELD_CLAIM';
  txHash: string;
  blockNumber: number;
  /** Who paid, took out or claimed. */
  account: string;
  amount: string;
}

interface DrawPayload {
  drawId: number;
  /** Draw ids count for each contract alone. */
  contract: string;
  txHash: string;
  blockNumber: number;
}

interface TicketsPayload {
  account: string;
  /** How many this purchase added. */
  tickets: string;
}

interface WinnerPayload {
  winner: string;
  prize: string;
}

/** What each topic tells. Amounts in smallest token units, addresses lower-cased. */
interface Payloads {
  /** The owner's account, and the pending deposit of the new pool, if it was made by the service. */
  'pool.created': { poolId: string; account: string } & Partial<
    Pick<TransactionPayload, 'transactionId' | 'transactionType' | 'amount'>
  >;
  'deposit.confirmed': TransactionPayload;
  'withdrawal.confirmed': TransactionPayload;
  'yield.accrued': Pick<TransactionPayload, 'poolId' | 'blockNumber' | 'amount'>;
  'yield.claimed': TransactionPayload;
  /** No payment came in time. A late one still confirms the deposit. */
  'deposit.expired': Omit<TransactionPayload, 'txHash' | 'blockNumber'>;
  /** A reorganisation took back what an event of topic `reverted` said; the other fields are that event's. */
  'transaction.reverted': { reverted: Topic } & Partial<
    TransactionPayload & DrawPayload & TicketsPayload & WinnerPayload
  >;
  'draw.opened': DrawPayload;
  'tickets.issued': DrawPayload & TicketsPayload;
  'draw.closed': DrawPayload;
  'draw.completed': DrawPayload & WinnerPayload;
  'draw.cancelled': DrawPayload;
}

export type Topic = keyof Payloads;

/** What happened: `topic` says which fields there are. */
export type EventPayload<Name extends Topic = Topic> = {
  [Each in Name]: {
    /** Where it stands, which `lastEventId` takes. Later ones have greater ids, compared as text. */
    id: string;
    topic: Each;
    /** ISO 8601, UTC. */
    occurredAt: string;
  } & Payloads[Each];
}[Name];

/** Events were missed: read anew what is shown. */
export interface ReloadEvent {
  topic: 'reload';
  /** What follows comes after this. */
  id: string | null;
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
/** Not longer, whatever the service asks for. */
const MOST_ASKED_MS = 300_000;

/**
 * @throws SavingsError for what trying again does not mend, such as a token that is good no more; what the wallet throws
 * when it is asked to sign in again; or the signal's reason
 */
export async function* followEvents(
  transport: Transport,
  baseUrl: string,
  { topics, lastEventId, onConnected, onDisconnected, signal }: EventsOptions,
): AsyncGenerator<SavingsEvent, void, undefined> {
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
      timer = setTimeout(
        () => silence.abort(new NoAnswerError('the stream went silent', undefined)),
        SILENCE_MS,
      );
    };
    const onId = (id: string): void => void (last = idHere = id);
    const onRetry = (ms: number): void => void (leastWaitMs = ms);
    try {
      onChunk();
      const body = await connect(transport, baseUrl, topics, last, ended);
      isConnected = true;
      attempt = 0;
      onConnected?.();
      for await (const { event, data } of parseEvents(body, { onChunk, onId, onRetry })) {
        // The id of before leads nowhere; without another one it begins anew.
        if (event === 'reload') last = idHere;
        yield event === 'reload' ? { topic: 'reload', id: last } : (JSON.parse(data) as EventPayload);
      }
      lost = new NoAnswerError('the stream ended', undefined);
    } catch (error) {
      signal?.throwIfAborted();
      // Whatever breaks a stream that stood passes; before, so does only what is known to.
      if (isSavingsError(error) ? !isTransient(error) : !isConnected) throw error;
      lost = error;
    } finally {
      clearTimeout(timer);
      // Whoever leaves the loop ends the connection.
      silence.abort();
    }
    onDisconnected?.(lost);
    const askedMs = lost instanceof ApiError ? (lost.retryAfterSeconds ?? 0) * 1000 : 0;
    const pauseMs = Math.max(askedMs, leastWaitMs, backoff(++attempt, FIRST_WAIT_MS, MOST_WAIT_MS));
    await wait(Math.min(pauseMs, MOST_ASKED_MS), signal);
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
