import { once } from 'node:events';
import { type IncomingMessage, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export type ToListeners = { url: string; count: number; headers: Record<string, string>[] } | 'leave';
export interface FromListeners {
  /** Events, of all streams. */
  received: number;
}

/** Streams that are opened at once. */
const BATCH = 100;
/** For events that are still on their way. */
const LAST_MS = 1000;

let received = 0;

async function listen(url: string, headers: Record<string, string>): Promise<void> {
  const [answer] = (await once(get(`${url}/events`, { headers, agent: false }), 'response')) as [
    IncomingMessage,
  ];
  if (answer.statusCode !== 200) throw new Error(`GET /events was answered with ${answer.statusCode}`);
  answer.setEncoding('utf8').on('data', (text: string) => {
    received += text.split('\nevent: ').length - 1;
  });
  answer.on('close', () => fail(new Error('the service has ended a stream')));
}

function fail(error: Error): void {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

async function obey(message: ToListeners): Promise<void> {
  if (message === 'leave') {
    await sleep(LAST_MS);
    process.send!({ received } satisfies FromListeners, () => process.exit(0));
    return;
  }
  const { url, count, headers } = message;
  for (let opened = 0; opened < count; opened += BATCH)
    await Promise.all(
      Array.from({ length: Math.min(BATCH, count - opened) }, (_, i) =>
        listen(url, headers[(opened + i) % headers.length]),
      ),
    );
  process.send!({ received } satisfies FromListeners);
}

process.on('message', (message: ToListeners) => void obey(message).catch(fail));
process.on('disconnect', () => process.exit(0));
