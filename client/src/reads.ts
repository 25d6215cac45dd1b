import { untilAborted } from './wait.js';

/** An answer that may be used again while the service says that nothing has changed. */
interface Kept {
  readonly tag: string;
  readonly body: string;
  readonly headers: Headers;
}

/** A read under way, and how many still want its answer. */
interface Running {
  readonly answer: Promise<Response>;
  readonly end: AbortController;
  wanted: number;
}

/** More is forgotten, the oldest first. */
const MOST_KEPT = 50;
const MOST_KEPT_LENGTH = 200_000;

/**
 * Sends what only reads: the same read at the same time only once, and again with the tag of the answer before, so that
 * the service has to send only what has changed. In memory alone: a shared computer keeps no balances.
 */
export class Reads {
  private readonly kept = new Map<string, Kept>();
  private readonly running = new Map<string, Running>();

  /** @param send a request, whatever it is */
  constructor(private readonly send: (request: Request) => Promise<Response>) {}

  /** @param token whose answers these are */
  async fetch(request: Request, token: string | null): Promise<Response> {
    if (request.method !== 'GET') {
      this.changed();
      return this.send(request).finally(() => this.changed());
    }
    const names = ['accept', 'authorization', 'if-none-match'].map((name) => request.headers.get(name));
    const key = JSON.stringify([request.url, token, ...names]);
    let running = this.running.get(key);
    // One that was given up gets no answer any more.
    if (!running || running.end.signal.aborted) {
      const end = new AbortController();
      const answer = this.read(new Request(request, { signal: end.signal }), key);
      const begun = (running = { answer, end, wanted: 0 });
      const forget = (): void => void (this.running.get(key) === begun && this.running.delete(key));
      answer.then(forget, forget);
      this.running.set(key, running);
    }
    return (await this.shared(running, request.signal)).clone();
  }

  /** A read after a change must not get the answer of one that began before it. */
  changed(): void {
    this.running.clear();
  }

  /** The answer that several wait for. It is given up only if nobody wants it any more. */
  private async shared(running: Running, signal: AbortSignal): Promise<Response> {
    running.wanted++;
    try {
      return await untilAborted(running.answer, signal);
    } finally {
      if (signal.aborted && --running.wanted === 0) running.end.abort(signal.reason);
    }
  }

  private async read(request: Request, key: string): Promise<Response> {
    const kept = this.kept.get(key);
    if (kept) request.headers.set('if-none-match', kept.tag);
    const answer = await this.send(request);
    if (kept && answer.status === 304) {
      // Unread, it would count as given up once the browser collects it.
      await answer.arrayBuffer();
      this.keep(key, kept);
      return new Response(kept.body, { status: 200, headers: kept.headers });
    }
    this.kept.delete(key);
    // Pages of other origins see the tag only if the service exposes it; then nothing is kept.
    const tag = answer.headers.get('etag');
    if (answer.status !== 200 || tag === null || request.headers.has('range')) return answer;
    const body = await answer.clone().text();
    if (body.length <= MOST_KEPT_LENGTH) this.keep(key, { tag, body, headers: answer.headers });
    return answer;
  }

  private keep(key: string, kept: Kept): void {
    this.kept.delete(key);
    this.kept.set(key, kept);
    if (this.kept.size > MOST_KEPT) this.kept.delete(this.kept.keys().next().value!);
  }
}
