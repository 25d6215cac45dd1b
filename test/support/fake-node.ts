import { once } from 'node:events';
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server of a test, which counts what it is asked: a chain node that misbehaves, or one that nobody may ask. */
export class FakeNode {
  readonly requests: IncomingMessage[] = [];
  /** Answers under way. */
  open = 0;
  private server: Server;

  /** @param answer gets the request's body read; without it the node says nothing at all */
  static async start(answer: RequestListener = () => undefined): Promise<FakeNode> {
    const node = new FakeNode();
    node.server = createServer((request: IncomingMessage, response: ServerResponse) => {
      node.requests.push(request);
      node.open++;
      response.on('close', () => node.open--);
      request.resume().on('end', () => answer(request, response));
    });
    await once(node.server.listen(0, '127.0.0.1'), 'listening');
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
