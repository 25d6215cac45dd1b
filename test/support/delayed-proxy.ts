import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

/** A network that holds back what the service sends to its database, and delivers it even when the service has left. */
export class DelayedProxy {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private held?: (() => void)[];

  private constructor(private readonly target: URL) {
    this.server = createServer((client) => this.join(client));
  }

  static async start(target: string): Promise<DelayedProxy> {
    const proxy = new DelayedProxy(new URL(target));
    await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    const url = new URL(this.target);
    url.port = `${(this.server.address() as AddressInfo).port}`;
    return url.href;
  }

  hold(): void {
    this.held ??= [];
  }

  /** Chunks and ends of connections that are held. */
  get waiting(): number {
    return this.held?.length ?? 0;
  }

  deliver(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const send of held) send();
  }

  private join(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    const later = (send: () => void): void => void (this.held ? this.held.push(send) : send());
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
    }
    client.on('data', (data) => later(() => server.write(data)));
    client.on('close', () => later(() => server.end()));
    server.on('data', (data) => client.writable && client.write(data));
    server.on('close', () => client.destroy());
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
