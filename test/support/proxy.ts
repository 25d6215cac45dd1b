import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

/** Stands between the service and its database, and can be a network that fails. */
export class Proxy {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private silent = false;

  private constructor(private readonly target: URL) {
    this.server = createServer({ allowHalfOpen: false }, (client) => this.join(client));
  }

  static async start(target: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(target));
    await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    const url = new URL(this.target);
    url.port = `${(this.server.address() as AddressInfo).port}`;
    return url.href;
  }

  private join(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ]) {
      this.sockets.add(from);
      from.on('data', (data) => this.silent || to.write(data));
      from.on('error', () => undefined);
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }

  /** As when the database is restarted: connections end, and new ones are ended too. */
  refuse(): void {
    this.server.removeAllListeners('connection').on('connection', (socket: Socket) => socket.destroy());
    this.cut();
  }

  /** As when a cable is pulled: connections stay and nothing comes. */
  hang(): void {
    this.silent = true;
  }

  restore(): void {
    this.silent = false;
    this.cut();
    this.server.removeAllListeners('connection').on('connection', (socket: Socket) => this.join(socket));
  }

  private cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
