import { Injectable } from '@nestjs/common';
import type { LookupAddress } from 'node:dns';
import { Resolver, lookup } from 'node:dns/promises';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { callbackify, isDeepStrictEqual } from 'node:util';
import { retryAfterOf } from '#platform/http/retry-after';
import { isPublicAddress } from './public-address';
import { problemOf } from './webhook-target';
import { WebhooksSettings } from './webhooks.settings';

/** Limit for the whole attempt: name lookup, connection, request and answer. */
const SEND_TIMEOUT_MS = 8000;
/** Bytes of an answer that are read. They are discarded, unless it answers a challenge. */
const ANSWER_BYTES = 1024;
/** Makes Node ask `lookup` for all addresses and try one after the other. Its types lack the option here. */
const ALL_ADDRESSES = { autoSelectFamily: true };
const MAY_WAIT = [429, 503];
const LONGEST_WAIT_SECONDS = 86_400;

export interface Outcome {
  /** HTTP status, null if no answer came. */
  status: number | null;
  /** Why it was not delivered, null if it was. Never contains text from the receiver. */
  error: string | null;
  /** Seconds that the receiver asks us to wait. */
  retryAfter?: number;
}

export interface Message {
  url: string;
  headers: Record<string, string>;
  body: string;
}

class SendFailed extends Error {}

/** Node's error codes are more specific than texts of our own would be. */
function reasonOf(error: Error & { code?: string }): string {
  if (error instanceof SendFailed) return error.message;
  const isLate = error.name === 'AbortError' || error.name === 'TimeoutError';
  return isLate ? 'no answer in time' : (error.code ?? 'connection failed');
}

/**
 * Sends to receivers that users have named. It connects only to addresses of the public internet, checks the very
 * address that it connects to, and follows no redirects. Each request uses its own connection.
 */
@Injectable()
export class WebhookClient {
  constructor(
    private readonly environment: WebhooksSettings,
    private readonly resolver: Resolver,
  ) {}

  /**
   * Never rejects.
   * @param stop aborts it early
   * @param challenge text in the body that the answer has to repeat
   */
  async post({ url, headers, body }: Message, stop?: AbortSignal, challenge?: string): Promise<Outcome> {
    const problem = problemOf(url, this.environment);
    if (problem) return { status: null, error: `address ${problem}` };
    const limits = [AbortSignal.timeout(SEND_TIMEOUT_MS), ...(stop ? [stop] : [])];
    try {
      const answer = await this.send(new URL(url), headers, body, AbortSignal.any(limits));
      const { 'retry-after': wait, date } = answer.headers;
      const status = answer.statusCode!;
      const retryAfter = MAY_WAIT.includes(status)
        ? retryAfterOf(wait, date, LONGEST_WAIT_SECONDS)
        : undefined;
      const text = await beginningOf(answer);
      const isRedirect = status >= 300 && status < 400;
      const refused = isRedirect ? 'redirects are not followed' : `status ${status}`;
      const isAnswered = challenge === undefined || answersChallenge(text, challenge);
      const unanswered = isAnswered ? null : 'the challenge was not answered';
      const error = status >= 200 && status < 300 ? unanswered : refused;
      return { status, error, retryAfter };
    } catch (error) {
      return { status: null, error: reasonOf(error as Error) };
    }
  }

  private async send(
    url: URL,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { request } = url.protocol === 'https:' ? https : http;
    const sent = request(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' },
      ...ALL_ADDRESSES,
      lookup: (hostname, _options, callback) => this.lookup(hostname, callback),
      agent: false,
      signal,
    });
    // Node reports no error of a connection that it closes itself, as after an upgrade that nobody asked for.
    sent.on('close', () => sent.emit('error', new SendFailed('connection closed')));
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    // Once there is an answer, its status counts, even if the rest of it fails, never comes, or is too long.
    sent.on('error', () => undefined).end(body);
    return (await answered)[0];
  }

  private readonly lookup = callbackify((hostname: string) => this.resolve(hostname));

  /**
   * Does not use getaddrinfo: it shares a few threads with everything else, and the receiver's name server could block
   * them.
   * @throws SendFailed if there is no address, or one of them is not public
   */
  private async resolve(hostname: string): Promise<LookupAddress[]> {
    if (this.environment.WEBHOOK_ALLOW_PRIVATE) return lookup(hostname, { all: true });
    const found = await Promise.allSettled([
      this.resolver.resolve4(hostname),
      this.resolver.resolve6(hostname),
    ]);
    const addresses = found
      .flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
      .map((address) => ({ address, family: isIP(address) }));
    if (addresses.length === 0) throw new SendFailed('name not resolved');
    if (!addresses.every(({ address }) => isPublicAddress(address)))
      throw new SendFailed('name leads to a private address');
    return addresses;
  }
}

async function beginningOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      if (Buffer.concat(chunks).length > ANSWER_BYTES) break;
    }
  } catch {
    // What has come is the answer.
  }
  return Buffer.concat(chunks).toString();
}

/**
 * Whether an answer repeats the challenge: as `{"challenge":"…"}` or the bare text. Nothing may stand beside it, since a
 * server that sends every request back has not been set up by anybody for this.
 */
export function answersChallenge(answer: string, challenge: string): boolean {
  // This also removes a byte order mark, which some servers send.
  const text = answer.trim();
  if (text === challenge) return true;
  try {
    return isDeepStrictEqual(JSON.parse(text), { challenge });
  } catch {
    return false;
  }
}
