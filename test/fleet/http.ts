import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { METRICS_TOKEN } from '../support/app';
import { type Wallet, newWallet, siweMessage } from '../support/wallet';

export interface Answer {
  /** 0 if there was no answer. */
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Parsed, when it is JSON. */
  body: any;
  /** Time from the first byte sent to the last received, in ms. */
  ms: number;
  /** Code of the connection's error, if there was no answer. */
  error?: string;
}

export interface Call {
  method?: string;
  body?: unknown;
  token?: string;
  headers?: Record<string, string | string[]>;
}

/** Keep-alive connections to one server. Retries nothing. */
export class HttpClient {
  private readonly agent: Agent;

  constructor(
    readonly url: string,
    maxSockets = Infinity,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets });
  }

  /** Never rejects: a failed connection is an answer with status 0. */
  send(path: string, { method = 'GET', body, token, headers = {} }: Call = {}): Promise<Answer> {
    const begun = performance.now();
    const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    return new Promise((resolve) => {
      const answered = (answer: Omit<Answer, 'ms'>): void =>
        resolve({ ...answer, ms: performance.now() - begun });
      const failed = (error: NodeJS.ErrnoException): void =>
        answered({ status: 0, headers: {}, text: '', body: undefined, error: error.code ?? error.message });
      const outgoing = request(
        `${this.url}${path}`,
        {
          agent: this.agent,
          method,
          headers: {
            ...(payload !== undefined && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(payload),
            }),
            ...(token && { authorization: `Bearer ${token}` }),
            ...headers,
          },
        },
        (incoming) => {
          let text = '';
          incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          incoming.on('error', failed);
          incoming.on('end', () => {
            const json = incoming.headers['content-type']?.startsWith('application/json') && text !== '';
            const body = json ? (JSON.parse(text) as unknown) : undefined;
            answered({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, body });
          });
        },
      );
      outgoing.on('error', failed);
      outgoing.end(payload);
    });
  }

  /** A value of /metrics, by name with labels. */
  async metric(name: string): Promise<number> {
    const { text } = await this.send('/metrics', { token: METRICS_TOKEN });
    const line = text.split('\n').find((each) => each.startsWith(`${name} `));
    return line === undefined ? NaN : Number(line.slice(name.length + 1));
  }

  /** Of the pools for the database, all from one answer of /metrics. */
  async databaseConnections(): Promise<Record<'busy' | 'idle' | 'waiting', number>> {
    const { text } = await this.send('/metrics', { token: METRICS_TOKEN });
    const found = text.matchAll(/^database_connections\{state="(\w+)"\} (\d+)$/gm);
    const counts = [...found].map(([, state, count]) => [state, Number(count)]);
    return Object.fromEntries(counts) as Record<'busy' | 'idle' | 'waiting', number>;
  }

  close(): void {
    this.agent.destroy();
  }
}

export interface Caller {
  token: string;
  address: string;
  wallet: Wallet;
}

/** Signs a wallet in as a wallet does: nonce, message, signature. */
export async function signIn(client: HttpClient, wallet: Wallet = newWallet()): Promise<Caller> {
  const { nonce } = (await client.send('/auth/nonce', { method: 'POST', body: { address: wallet.address } }))
    .body as {
    nonce: string;
  };
  const message = siweMessage({ address: wallet.address, nonce });
  const signature = await wallet.signMessage({ message });
  const answer = await client.send('/auth/verify', { method: 'POST', body: { message, signature } });
  if (answer.status !== 200) throw new Error(`sign-in failed: ${answer.status} ${answer.text}`);
  return { token: answer.body.token as string, address: wallet.address.toLowerCase(), wallet };
}

/** The number of answers of each status. */
export function tally(answers: Pick<Answer, 'status'>[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The same for a report. */
export const named = (counts: Record<number, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([status, count]) => [`answers ${status}`, count]));

export const slowest = (answers: Answer[]): number => Math.max(0, ...answers.map(({ ms }) => ms));
