import { once } from 'node:events';
import { connect } from 'node:net';

/** Everything that a server of this machine sends for these bytes, as they are, until it closes. */
export async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  let received = '';
  socket.on('data', (text: string) => (received += text)).on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close');
  return received;
}
