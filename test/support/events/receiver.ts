import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { FakeNode } from '../network/fake-node';

export interface Received {
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

type Answer = (response: ServerResponse, request: Received) => void;

/** A server that takes webhooks, as a customer would write it. */
export class Receiver {
  /** All but challenges. */
  readonly received: Received[] = [];
  readonly challenges: Received[] = [];
  /** What it answers. */
  answer: Answer = (response) => response.writeHead(204).end();
  answerChallenge: Answer = (response, { body }) => {
    const { challenge } = JSON.parse(body) as { challenge: string };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ challenge }));
  };
  /** Requests whose client gave up before they were answered. */
  lost = 0;
  private server: FakeNode;

  /** At every address of this machine, 127.1.2.3 too. */
  async start(): Promise<this> {
    this.server = await FakeNode.start((...given) => this.take(...given), '0.0.0.0');
    return this;
  }

  private take({ url, headers }: IncomingMessage, response: ServerResponse, body: string): void {
    response.on('close', () => (this.lost += Number(!response.writableEnded)));
    const each = { url: url!, headers, body };
    const isChallenge = body.includes('"topic":"challenge"');
    (isChallenge ? this.challenges : this.received).push(each);
    if (isChallenge) this.answerChallenge(response, each);
    else this.answer(response, each);
  }

  get port(): number {
    return this.server.port;
  }

  /** The most requests at once that were not answered yet. */
  get mostUnanswered(): number {
    return this.server.mostOpen;
  }

  /** Also those without a request. */
  get connections(): number {
    return this.server.connections;
  }

  get url(): string {
    return this.urlAt('127.0.0.1');
  }

  urlAt(host: string): string {
    return `http://${host}:${this.port}/hook`;
  }

  get events(): Record<string, unknown>[] {
    return this.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  }

  /** The test events that came. */
  get tests(): Received[] {
    return this.received.filter(({ body }) => body.includes('"topic":"test"'));
  }

  /** Answers nothing of this kind from now on. @returns what answers all of it, as before, and what comes later */
  hold(kind: 'answer' | 'answerChallenge' = 'answer'): () => void {
    const usual = this[kind];
    const held: (() => void)[] = [];
    this[kind] = (...given) => void held.push(() => usual(...given));
    return () => {
      this[kind] = usual;
      for (const answer of held.splice(0)) answer();
    };
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}

/** As the documentation tells receivers to check, both signatures. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const [, time, given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['savings-signature'])) ?? [];
  const isRecent = Math.abs(Date.now() / 1000 - Number(time)) < 300;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const standard = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return (
    isRecent &&
    headers['webhook-timestamp'] === time &&
    headers['webhook-signature'] === standard &&
    createHmac('sha256', secret).update(`${time}.${body}`).digest('hex') === given
  );
}
