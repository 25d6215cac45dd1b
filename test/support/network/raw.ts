import { once } from 'node:events';
import { connect } from 'node:net';

/** Sends these bytes unchanged to a local server. @returns everything that it sends until it closes */
export async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  let received = '';
  socket.on('data', (text: string) => (received += text)).on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close');
  return received;
}
