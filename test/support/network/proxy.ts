import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

type Direction = 'requests' | 'answers';

/** Stands between the service and its database: a network that fails, or holds back what it carries. */
export class Proxy {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private isSilent = false;
  private held?: { only?: Direction; sends: (() => void)[] };

  constructor(private readonly target: URL) {
    this.server = createServer((client) => this.accept(client));
  }

  static async start<P extends Proxy>(this: new (target: URL) => P, target: string): Promise<P> {
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

  /** As when the database restarts: open connections end, and new ones too. */
  refuse(): void {
    this.server.removeAllListeners('connection').on('connection', (socket: Socket) => socket.destroy());
    this.cut();
  }

  /** As when a cable is pulled: connections stay open and nothing arrives. */
  hang(): void {
    this.isSilent = true;
  }

  /** Ends what `refuse` and `hang` began. */
  restore(): void {
    this.isSilent = false;
    this.cut();
    this.server.removeAllListeners('connection').on('connection', (socket: Socket) => this.accept(socket));
  }

  /** Holds back what comes from now on. Requests arrive later even if the service has closed its connection. */
  hold(only?: Direction): void {
    this.held ??= { only, sends: [] };
  }

  /** Chunks and ends of connections that are held. */
  get waiting(): number {
    return this.held?.sends.length ?? 0;
  }

  /** Delivers what was held, and holds nothing any more. */
  deliver(): void {
    const sends = this.held?.sends ?? [];
    this.held = undefined;
    for (const send of sends) send();
  }

  /** Passes data between a client and its connection to the target. */
  protected join(client: Socket, server: Socket): void {
    client.on('data', (data) => this.carry('requests', () => server.write(data)));
    client.on('close', () => this.carry('requests', () => server.end()));
    server.on('data', (data) => this.carry('answers', () => client.writable && client.write(data)));
    server.on('close', () => client.destroy());
  }

  protected carry(direction: Direction, send: () => void): void {
    if (this.isSilent) return;
    if (this.held && (this.held.only ?? direction) === direction) this.held.sends.push(send);
    else send();
  }

  private accept(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
    }
    this.join(client, server);
  }

  private cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}
