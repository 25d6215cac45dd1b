import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { v7 as uuidv7 } from 'uuid';
import { Database } from '#platform/database/database';
import { FINISH_CHALLENGE } from '#extensions/webhooks/deliveries.sql';
import { type Response, type SignedIn, type TestApp, until } from '../app';
import { Receiver } from './receiver';

export interface CreatedWebhook {
  id: string;
  secret: string;
}

export interface Delivery {
  id: string;
  eventId: string;
  topic: string;
  status: string;
  attempts: number;
  lastStatus: number | null;
  lastError: string | null;
  nextAttemptAt: string | null;
  deliveredAt: string | null;
}

/** Webhooks of a user who is new in each test, and the servers that they lead to. */
export class Webhooks {
  owner: SignedIn;
  private readonly receivers: Receiver[] = [];

  constructor(private readonly app: TestApp) {
    // Consumers begin with what comes after them.
    beforeAll(() => until(async () => (await app.sql('SELECT FROM outbox_consumers')).length > 0));
    beforeEach(async () => {
      this.owner = await app.signIn();
    });
    afterEach(async () => {
      await app.sql('DELETE FROM webhooks');
      for (const each of this.receivers.splice(0)) await each.stop();
    });
  }

  async receiver(): Promise<Receiver> {
    const started = await new Receiver().start();
    this.receivers.push(started);
    return started;
  }

  send(method: string, url: string, body?: unknown, as: { token: string } = this.owner): Promise<Response> {
    return this.app.send({ method, url, body, as });
  }

  /** One that has to prove itself. */
  async create(url: string, fields: object = {}): Promise<CreatedWebhook> {
    const { status, body } = await this.send('POST', '/webhooks', { url, ...fields });
    expect(status).toBe(201);
    return body.data as CreatedWebhook;
  }

  /** One that is ACTIVE. */
  async subscribe(url: string, fields: object = {}): Promise<CreatedWebhook> {
    const created = await this.create(url, fields);
    await (this.receivers.some((each) => each.url === url) ? verified : verify)(this.app, created.id);
    return created;
  }

  async shown(id: string): Promise<Record<string, unknown>> {
    return (await this.send('GET', `/webhooks/${id}`)).body.data as Record<string, unknown>;
  }

  async deliveries(id: string): Promise<Delivery[]> {
    return (await this.send('GET', `/webhooks/${id}/deliveries`)).body.data as Delivery[];
  }

  /** The newest one; undefined if there is none. */
  async delivery(id: string): Promise<Delivery> {
    return (await this.deliveries(id))[0];
  }

  retry(id: string, delivery: string): Promise<Response> {
    return this.send('POST', `/webhooks/${id}/deliveries/${delivery}/retry`);
  }

  async test(id: string): Promise<void> {
    expect((await this.send('POST', `/webhooks/${id}/test`)).status).toBe(202);
  }
}

/** Waits until the sender has looked for due webhooks this often. @returns the statements that ran meanwhile */
export async function looks(times: number): Promise<string[]> {
  const names: string[] = [];
  const note = (call: unknown): void => void names.push((call as { name: string }).name);
  subscribe('tracing:database:statement:start', note);
  await until(() => names.filter((name) => name === 'due_webhooks').length >= times);
  unsubscribe('tracing:database:statement:start', note);
  return names;
}

/** Waits until the receiver has answered the challenge. */
export const verified = (app: TestApp, id: string): Promise<unknown> =>
  until(
    async () => (await app.sql(`SELECT FROM webhooks WHERE id = $1 AND status = 'ACTIVE'`, [id])).length > 0,
  );

/** As if it had answered, where nobody listens. */
export async function verify(app: TestApp, id: string): Promise<void> {
  const [{ url }] = await app.sql<{ url: string }>('SELECT url FROM webhooks WHERE id = $1', [id]);
  const challenge = { webhook: id, url, error: null };
  await app.nest.get(Database).write(FINISH_CHALLENGE, challenge);
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
