import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Loop } from '#platform/timing/loop';
import { SessionFeed } from '#features/access/session-feed';
import { Sessions } from '#features/access/sessions';

/** When the database tells late which sessions have ended, as it may on a busy machine, a sweep ends all streams. */
export const holdSweeps = (): unknown => jest.spyOn(Sessions.prototype, 'sweep').mockReturnValue();

/**
 * A late answer begins no new term of sessions, as the next one tells the same endings. Not for tests that cut
 * connections.
 */
export function holdTerms(): jest.SpyInstance {
  const close = Reflect.get(SessionFeed.prototype, 'close') as () => void;
  return jest.spyOn(SessionFeed.prototype as never, 'close').mockImplementation(function (this: SessionFeed) {
    const { aborted } = (Reflect.get(this, 'loop') as Loop).signal;
    if (aborted || Reflect.get(this, 'snapshot') === undefined) close.call(this);
  } as never);
}

export interface Received {
  id: string;
  event: string;
  data: any;
}

/** Reads Server-Sent Events as the specification says, with a connection of its own. */
export class EventReader {
  readonly events: Received[] = [];
  readonly comments: string[] = [];
  /** What a reconnecting EventSource would send. */
  lastEventId = '';
  retry = 0;
  ended = false;
  status = 0;
  headers: IncomingMessage['headers'] = {};
  body = '';
  private rest = '';
  private sent: ClientRequest;
  private answer: IncomingMessage;

  async open(port: number, path: string, headers: Record<string, string> = {}): Promise<this> {
    const options = { host: '127.0.0.1', port, path, headers, agent: false };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      this.sent = request(options, resolve).on('error', reject).end();
    });
    this.sent.on('error', () => undefined);
    this.answer = answer;
    this.status = answer.statusCode!;
    this.headers = answer.headers;
    answer.setEncoding('utf8').on('data', (text: string) => this.take(text));
    answer.on('error', () => undefined).on('close', () => (this.ended = true));
    return this;
  }

  /** Takes nothing more from the socket. */
  pause(): void {
    this.answer.pause();
  }

  resume(): void {
    this.answer.resume();
  }

  close(): void {
    this.sent.destroy();
  }

  private take(text: string): void {
    this.body += text;
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop()!;
    for (const block of blocks) {
      const received: Received = { id: '', event: 'message', data: undefined };
      for (const line of block.split('\n')) {
        const [, name, value] = /^([^:]*): ?(.*)$/.exec(line)!;
        if (name === '') this.comments.push(value);
        if (name === 'id') this.lastEventId = received.id = value;
        if (name === 'retry') this.retry = Number(value);
        if (name === 'event') received.event = value;
        if (name === 'data') received.data = JSON.parse(value);
      }
      if (received.data !== undefined) this.events.push(received);
    }
  }
}
