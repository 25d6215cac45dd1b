import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

/** Stands between the service and its database. */
export abstract class TcpProxy {
  protected readonly server: Server;
  protected readonly sockets = new Set<Socket>();

  constructor(private readonly target: URL) {
    this.server = createServer((client) => this.accept(client));
  }

  static async start<P extends TcpProxy>(this: new (target: URL) => P, target: string): Promise<P> {
    const proxy = new this(new URL(target));
    await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  /** The target's, with the port of the proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.port = `${(this.server.address() as AddressInfo).port}`;
    return url.href;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Passes data between a client and its connection to the target. */
  protected abstract join(client: Socket, server: Socket): void;

  protected accept(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
    }
    this.join(client, server);
  }

  protected cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}
