import type { Socket } from 'node:net';
import { TcpProxy } from './tcp-proxy';

/** A network that fails. */
export class Proxy extends TcpProxy {
  private silent = false;

  /** As when the database restarts: open connections end, and new ones too. */
  refuse(): void {
    this.server.removeAllListeners('connection').on('connection', (socket: Socket) => socket.destroy());
    this.cut();
  }

  /** As when a cable is pulled: connections stay open and nothing arrives. */
  hang(): void {
    this.silent = true;
  }

  restore(): void {
    this.silent = false;
    this.cut();
    this.server.removeAllListeners('connection').on('connection', (socket: Socket) => this.accept(socket));
  }

  protected join(client: Socket, server: Socket): void {
    for (const [from, to] of [
      [client, server],
      [server, client],
    ])
      from.on('data', (data) => this.silent || to.write(data)).on('close', () => to.destroy());
  }
}
