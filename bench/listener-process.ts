import { once } from 'node:events';
import { type IncomingMessage, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { obey } from './helper';

export interface ListenerOrders {
  url: string;
  count: number;
  /** Of the users, who take turns. */
  headers: Record<string, string>[];
}
/** Events that arrived so far, of all streams. */
export interface ListenerReport {
  received: number;
}

/** Streams that are opened at once. */
const BATCH = 100;
/** For events that are still on their way. */
const LAST_MS = 500;

let received = 0;

async function listen(url: string, headers: Record<string, string>): Promise<void> {
  const [answer] = (await once(get(`${url}/events`, { headers, agent: false }), 'response')) as [
    IncomingMessage,
  ];
  if (answer.statusCode !== 200) throw new Error(`GET /events was answered with ${answer.statusCode}`);
  answer.setEncoding('utf8').on('data', (text: string) => {
    received += text.split('\nevent: ').length - 1;
  });
  answer.on('close', () => void Promise.reject(new Error('the service has ended a stream')));
}

obey<ListenerOrders, ListenerReport>(
  async ({ url, count, headers }) => {
    for (let opened = 0; opened < count; opened += BATCH)
      await Promise.all(
        Array.from({ length: Math.min(BATCH, count - opened) }, (_, i) =>
          listen(url, headers[(opened + i) % headers.length]),
        ),
      );
    return { received };
  },
  async () => {
    await sleep(LAST_MS);
    return { received };
  },
);
