import type { Socket } from 'node:net';
import { TcpProxy } from './tcp-proxy';

/** A network that holds back what the service sends, and delivers it even after the service has closed the connection. */
export class DelayedProxy extends TcpProxy {
  private held?: (() => void)[];

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

  protected join(client: Socket, server: Socket): void {
    const later = (send: () => void): void => void (this.held ? this.held.push(send) : send());
    client.on('data', (data) => later(() => server.write(data)));
    client.on('close', () => later(() => server.end()));
    server.on('data', (data) => client.writable && client.write(data));
    server.on('close', () => client.destroy());
  }
}
