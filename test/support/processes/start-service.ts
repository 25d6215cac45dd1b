import { SavingsClient, type Start, type TabTools, memoryTokens } from '@pooled-savings/client';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { FakeNode } from '../network/fake-node';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
/** A token as the service gives it, as far as a client can read it. */
export const tokenOf = (address: string, nonce = address.slice(-6)): string =>
  `${part({ alg: 'HS256' })}.${part({ address, exp: 4_000_000_000 })}.${nonce.padStart(43, '-')}`;

/** The id of the nth event. */
export const idOf = (n: number): string =>
  `${n.toString(16).padStart(12, '0')}-${'1'.padStart(12, '0')}-0001`;

/** What a client follows, without a database: a start page, a stream, and whatever goes wrong. */
export class StartService {
  /** Every request, in order, as `GET /path`. */
  readonly asked: string[] = [];
  readonly lastIds: (string | undefined)[] = [];
  readonly streams = new Map<ServerResponse, string>();
  /** How far the tables and the events are. */
  now = 1;
  /** What the start page says beside its cursor. */
  page: Partial<Start> = {};
  /** Requests get this instead, streams too. */
  refuses?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Only streams get this instead. */
  refusesStreams?: (response: ServerResponse) => void;
  private readonly held: (() => void)[] = [];
  private isFrozen = false;
  private server: FakeNode;

  async listen(): Promise<void> {
    this.server = await FakeNode.start((request, response) => this.take(request, response));
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  client(tabs: TabTools, token: string | null): SavingsClient {
    return new SavingsClient({ baseUrl: this.server.url, tabs, tokens: memoryTokens(token) });
  }

  count(what: string): number {
    return this.asked.filter((each) => each === what).length;
  }

  /** Something happens: streams tell it, and the start page contains it. */
  happen(topic: string, fields: object = {}): string {
    const id = idOf(++this.now);
    const event = { id, topic, occurredAt: new Date(0).toISOString(), ...fields };
    for (const stream of this.streams.keys())
      stream.write(`id: ${id}\nevent: ${topic}\ndata: ${JSON.stringify(event)}\n\n`);
    return id;
  }

  freeze(): void {
    this.isFrozen = true;
  }

  thaw(): void {
    this.isFrozen = false;
    for (const answer of this.held.splice(0)) answer();
  }

  private take(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(`${request.method} ${request.url}`);
    const answer = (): void => this.answer(request, response);
    if (this.isFrozen) this.held.push(answer);
    else answer();
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.refuses) return this.refuses(request, response);
    if (request.url === '/events') return this.open(request, response);
    const data = { ...EMPTY, ...this.page, cursor: idOf(this.now) };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ success: true, data }));
  }

  private open(request: IncomingMessage, response: ServerResponse): void {
    const last = request.headers['last-event-id'] as string | undefined;
    this.lastIds.push(last);
    if (this.refusesStreams) return this.refusesStreams(response);
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .write(`id: ${last ?? idOf(this.now)}\n\n`);
    this.streams.set(response, request.headers.authorization ?? '');
    response.once('close', () => this.streams.delete(response));
  }
}

/** A refusal in the form of the service. */
export const refusal =
  (status: number, code: string, headers: Record<string, string> = {}) =>
  (_request: unknown, response: ServerResponse): void =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify({ success: false, error: 'no', code }));

const none = { data: [], pagination: { page: 1, limit: 8, total: 0, pages: 0 } };
const EMPTY = {
  ...{ user: {}, analytics: {}, pools: none, positions: none, transactions: none },
  ...{ draw: null, entries: none, winners: none },
};
