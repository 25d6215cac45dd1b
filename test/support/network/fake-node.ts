import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server of a test, which counts what it is asked: a chain node that misbehaves, or one that nobody may ask. */
export class FakeNode {
  readonly requests: IncomingMessage[] = [];
  /** Answers under way, and the most of them at once. */
  open = 0;
  mostOpen = 0;
  /** Also those without a request. */
  connections = 0;
  private server: Server;

  /** @param answer gets the request with its body; without it the node says nothing at all */
  static async start(
    answer: (request: IncomingMessage, response: ServerResponse, body: string) => void = () => undefined,
    host = '127.0.0.1',
  ): Promise<FakeNode> {
    const node = new FakeNode();
    // A client that sends on a connection just as it is closed would fail, so none is.
    node.server = createServer(
      { keepAliveTimeout: 0 },
      (request: IncomingMessage, response: ServerResponse) => {
        node.requests.push(request);
        node.mostOpen = Math.max(node.mostOpen, ++node.open);
        response.on('close', () => node.open--);
        let body = '';
        request.setEncoding('utf8').on('data', (text: string) => (body += text));
        request.on('end', () => answer(request, response, body));
      },
    );
    node.server.on('connection', () => node.connections++);
    await once(node.server.listen(0, host), 'listening');
    return node;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
