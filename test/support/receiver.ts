import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A server that takes webhooks, as a customer would write it. */
export class Receiver {
  readonly received: Received[] = [];
  /** What it answers. */
  answer: (response: ServerResponse, request: Received) => void = (response) => response.writeHead(204).end();
  /** Requests that are not answered yet, and the most of them at once. */
  private unanswered = 0;
  mostUnanswered = 0;
  private readonly server: Server = createServer((request, response) => {
    this.mostUnanswered = Math.max(this.mostUnanswered, ++this.unanswered);
    response.on('close', () => this.unanswered--);
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const each = { url: request.url!, headers: request.headers, body };
      this.received.push(each);
      this.answer(response, each);
    });
  });
  /** Connections, also those without a request. */
  connections = 0;

  async start(host = '127.0.0.1'): Promise<this> {
    this.server.on('connection', () => this.connections++);
    await new Promise<void>((resolve) => this.server.listen(0, host, resolve));
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  get events(): Record<string, unknown>[] {
    return this.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** As the documentation tells receivers to check. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const [, time, given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['webhook-signature'])) ?? [];
  const isRecent = Math.abs(Date.now() / 1000 - Number(time)) < 300;
  return isRecent && createHmac('sha256', secret).update(`${time}.${body}`).digest('hex') === given;
}
