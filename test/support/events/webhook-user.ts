import type { Response, SignedIn, TestApp } from '../app';
import { Receiver, verified, verify } from './receiver';

export interface CreatedWebhook {
  id: string;
  secret: string;
}

/** Webhooks of a user who is new in each test, and the servers that they lead to. */
export class Webhooks {
  owner: SignedIn;
  private readonly receivers: Receiver[] = [];

  constructor(private readonly app: TestApp) {
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

  /** One that is ACTIVE. */
  async subscribe(url: string, fields: object = {}): Promise<CreatedWebhook> {
    const { status, body } = await this.app.post('/webhooks', { url, ...fields }, this.owner);
    expect(status).toBe(201);
    const created = body.data as CreatedWebhook;
    await (this.receivers.some((each) => each.url === url) ? verified : verify)(this.app, created.id);
    return created;
  }

  async shown(id: string): Promise<Record<string, unknown>> {
    return (await this.app.get(`/webhooks/${id}`, this.owner)).body.data as Record<string, unknown>;
  }

  async deliveries(id: string): Promise<Record<string, unknown>[]> {
    return (await this.app.get(`/webhooks/${id}/deliveries`, this.owner)).body.data as Record<
      string,
      unknown
    >[];
  }

  async test(id: string): Promise<void> {
    expect((await this.send('POST', `/webhooks/${id}/test`)).status).toBe(202);
  }
}

/** The test events that came. */
export const testsOf = ({ received }: Receiver): Receiver['received'] =>
  received.filter(({ body }) => body.includes('"topic":"test"'));
