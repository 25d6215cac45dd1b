import type { Socket } from 'node:net';
import { HoldingProxy } from './holding-proxy';

/** A network that holds back what the server answers. */
export class HeldAnswers extends HoldingProxy {
  protected join(client: Socket, server: Socket): void {
    client.on('data', (data) => server.write(data)).on('close', () => server.destroy());
    server.on('data', (data) => this.later(() => client.writable && client.write(data)));
    server.on('close', () => client.destroy());
  }
}
