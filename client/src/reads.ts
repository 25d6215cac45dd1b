/** An answer that may be used again while the service says that nothing has changed. */
interface Kept {
  readonly tag: string;
  readonly body: string;
  readonly headers: Headers;
}

/** More is forgotten, the oldest first. */
const MOST_KEPT = 50;
const MOST_KEPT_LENGTH = 200_000;

/**
 * Reads again with the tag of the answer before, so that the service has to send only what has changed. In memory alone:
 * a shared computer keeps no balances.
 */
export class Reads {
  private readonly kept = new Map<string, Kept>();

  /** @param send a request, whatever it is */
  constructor(private readonly send: (request: Request) => Promise<Response>) {}

  /** @param token whose answers these are */
  async fetch(request: Request, token: string | null): Promise<Response> {
    if (request.method !== 'GET') return this.send(request);
    const names = ['accept', 'authorization', 'if-none-match'].map((name) => request.headers.get(name));
    const key = JSON.stringify([request.url, token, ...names]);
    const kept = this.kept.get(key);
    const sent = new Request(request);
    if (kept) sent.headers.set('if-none-match', kept.tag);
    const answer = await this.send(sent);
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
