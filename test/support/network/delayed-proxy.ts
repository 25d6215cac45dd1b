import type { Socket } from 'node:net';
import { HoldingProxy } from './holding-proxy';

/** A network that holds back what the service sends, and delivers it even after the service has closed the connection. */
export class DelayedProxy extends HoldingProxy {
  protected join(client: Socket, server: Socket): void {
    client.on('data', (data) => this.later(() => server.write(data)));
    client.on('close', () => this.later(() => server.end()));
    server.on('data', (data) => client.writable && client.write(data));
    server.on('close', () => client.destroy());
  }
}
