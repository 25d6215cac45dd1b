import type { Socket } from 'node:net';
import { Proxy } from './proxy';

const ERROR = 'E'.charCodeAt(0);
/** A message's type, and its length without the type. */
const HEAD = 5;

/** A network that carries PostgreSQL's errors, and holds back what the server says after one. */
export class HeldEnds extends Proxy {
  protected override join(client: Socket, server: Socket): void {
    // What is sent alone would wait for what is held.
    client.setNoDelay();
    client.on('data', (data) => server.write(data)).on('close', () => server.destroy());
    let rest = Buffer.alloc(0);
    let hasFailed = false;
    server.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= HEAD && rest.length > rest.readInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readInt32BE(1));
        rest = rest.subarray(message.length);
        const send = (): unknown => client.writable && client.write(message);
        if (hasFailed) this.carry('answers', send);
        else send();
        hasFailed ||= message[0] === ERROR;
      }
    });
    server.on('close', () => client.destroy());
  }
}
