import { once } from 'node:events';
import { type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Sent {
  id: number;
  method: string;
}
export type Reply = (response: ServerResponse, sent: Sent[]) => unknown;

/** Every call is answered with the name of its method. */
export const answers = (sent: Sent[]): object[] =>
  sent.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: method }));
export const well: Reply = (response, sent) =>
  response.end(JSON.stringify(sent.length > 1 ? answers(sent) : answers(sent)[0]));
export const json =
  (make: (sent: Sent[]) => unknown): Reply =>
  (response, sent) =>
    response.end(JSON.stringify(make(sent)));

/** A provider that answers as the test says. */
export class JsonRpcServer {
  /** How the next requests are answered; all further ones go well. */
  replies: Reply[] = [];
  /** The calls of each. */
  requests: Sent[][] = [];
  private server: Server;

  async start(): Promise<void> {
    // A client that sends on a connection just as it is closed would fail, so none is.
    this.server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        const sent = [JSON.parse(text) as Sent | Sent[]].flat();
        this.requests.push(sent);
        (this.replies.shift() ?? well)(response, sent);
      });
    });
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
