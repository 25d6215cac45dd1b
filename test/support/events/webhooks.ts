import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import type { TestApp } from '../app';

/** Takes webhooks at every address of this machine, 127.1.2.3 too, and answers when it is told to. */
export class SlowReceiver {
  readonly held: ServerResponse[] = [];
  /** Requests whose client has given up. */
  lost = 0;
  private readonly server = createServer((request, response) => {
    this.held.push(response);
    response.on('close', () => void (this.lost += response.writableEnded ? 0 : 1));
    request.resume();
  });

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '0.0.0.0', resolve));
    return this;
  }

  url(host: string): string {
    return `http://${host}:${(this.server.address() as AddressInfo).port}/`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** ACTIVE webhooks of users of their own, ten each, with events that wait. @param set what their rows are to have */
export async function crowd(
  app: TestApp,
  {
    webhooks,
    pending,
    urlOf,
    set,
  }: { webhooks: number; pending: number; urlOf: (n: number) => string; set?: string },
): Promise<string[]> {
  const ids = Array.from({ length: webhooks }, () => uuidv7());
  const urls = ids.map((_, n) => urlOf(n));
  const users = ids.slice(0, Math.ceil(webhooks / 10)).map(() => uuidv7());
  const event = randomUUID();
  await app.sql(
    `INSERT INTO users (id, created_at, address) SELECT id, now(), '0x' || right(replace(id::text, '-', ''), 24) || repeat('0', 16)
     FROM unnest($1::uuid[]) id`,
    [users],
  );
  await app.sql(
    `INSERT INTO webhooks (id, user_id, address, slot, url, host, secret, status)
     SELECT w.id, u.id, u.address, (w.n - 1) % 10 + 1, w.url, w.host, 'secret', 'ACTIVE'
     FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS w (id, url, host, n)
     JOIN users u ON u.id = ($4::uuid[])[(w.n - 1) / 10 + 1]`,
    [ids, urls, urls.map((url) => new URL(url).hostname), users],
  );
  if (set) await app.sql(`UPDATE webhooks SET ${set} WHERE id = ANY($1)`, [ids]);
  await app.sql(
    `INSERT INTO webhook_events (id, body) SELECT $1 || n, '{}' FROM generate_series(1, $2::int) n`,
    [event, pending],
  );
  await app.sql(
    `INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic)
     SELECT gen_random_uuid(), id, $2 || n, 'pool.created' FROM unnest($1::uuid[]) id, generate_series(1, $3::int) n`,
    [ids, event, pending],
  );
  return ids;
}

/** As if that much time had gone by for a webhook. */
export const goForward = (app: TestApp, id: string, interval: string): Promise<unknown> =>
  app.sql(
    `WITH deliveries AS (
       UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at - $2::interval
       WHERE webhook_id = $1 AND status = 'PENDING')
     UPDATE webhooks SET retry_at = retry_at - $2::interval, taken_until = taken_until - $2::interval,
       failing_since = failing_since - $2::interval, challenge_asked_at = challenge_asked_at - $2::interval WHERE id = $1`,
    [id, interval],
  );
