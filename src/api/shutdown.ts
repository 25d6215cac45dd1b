import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { expectFailures } from '#platform/errors/failures';
import { clientKey, plainAddress, trustedProxies } from '#platform/http/client-address';
import { HealthService } from '#features/health/health.service';
import type { Environment } from '#settings/environment';

/** Time for load balancers to see the failing readiness before new connections are refused. */
const NOTICE_MS = 1500;
/** After this time running requests are cut, so that the process ends within 10 s of the signal. */
export const GRACE_MS = 7000;

/** Listens, and on SIGTERM or SIGINT drains: readiness fails, requests in flight finish, the process ends. */
export async function runUntilSignal(
  app: NestFastifyApplication,
  { HOST, PORT, NODE_ENV }: Environment,
  logger: Logger,
): Promise<void> {
  await app.listen(PORT, HOST);
  logger.info({ address: await app.getUrl() }, 'listening');
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'draining');
    drain(app, NODE_ENV === 'production' ? NOTICE_MS : 0).then(
      () => exit(logger, 0),
      (error: Error) => {
        logger.error({ err: error }, 'shutdown failed');
        exit(logger, 1);
      },
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  // Under a parent that forked it (npm start) the process reports when it is ready, and ends with the parent.
  process.on('disconnect', () => stop('disconnect'));
  process.send?.('listening');
}

const connections = new WeakMap<Server, Connections>();

/** Tracks the connections of a server that does not listen yet, so that it can be drained later. */
export function watchConnections(server: Server, proxies: string[]): void {
  connections.set(server, new Connections(server, proxies));
}

/** @param noticeMs how long requests are still accepted after readiness failed */
export async function drain(app: NestFastifyApplication, noticeMs: number): Promise<void> {
  const server = app.getHttpServer();
  expectFailures(server);
  app.get(HealthService).drain();
  connections.get(server)?.announceClose();
  await new Promise((resolve) => setTimeout(resolve, noticeMs));
  // Idle connections would keep the server open as long as the client likes.
  const idle = setInterval(() => server.closeIdleConnections(), 100);
  const all = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(all);
  }
}

function exit(logger: Logger, code: number): void {
  logger.flush(() => process.exit(code));
}

/**
 * Idle connections that a client may hold. Browsers hold 6, and busy clients behind one office address hold dozens. A
 * thousand such addresses stay below the usual limits of open files.
 */
export const MAX_IDLE = 256;

interface Connection {
  /** Undefined for trusted proxies, which are not counted. */
  client?: Client;
  /** Answers that are not sent completely yet. */
  answers: Set<ServerResponse>;
  /** Rises with each connection that becomes idle after a request; 0 for one that never sent a request. */
  idleSince: number;
}

interface Client {
  key: string;
  connections: Map<Socket, Connection>;
  /** How many of them are idle. */
  idle: number;
}

/**
 * The open connections of a server. Create it before the server listens. When a client has more than `MAX_IDLE` idle
 * connections, its oldest is closed; those that never sent a request go first. Proxies in TRUST_PROXY speak for many
 * clients, so they have no limit.
 */
class Connections {
  private readonly open = new Map<Socket, Connection>();
  private readonly clients = new Map<string, Client>();
  private rests = 0;
  private readonly closeNow: () => void;
  private closing = false;

  constructor(server: Server, proxies: string[] = []) {
    this.closeNow = server.closeIdleConnections.bind(server);
    // Node's own `close` calls it too.
    server.closeIdleConnections = () => this.closeIdle();
    const isProxy = trustedProxies(proxies);
    server.on('connection', (socket) => {
      const address = plainAddress(socket.remoteAddress ?? '');
      const client =
        address === undefined || isProxy(address) ? undefined : this.clientOf(clientKey(address));
      const connection = { client, answers: new Set<ServerResponse>(), idleSince: 0 };
      this.open.set(socket, connection);
      client?.connections.set(socket, connection);
      this.rest(client);
      socket.once('close', () => this.forget(socket, connection));
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const connection = this.open.get(socket);
      if (!connection) return;
      const { answers, client } = connection;
      if (client && answers.size === 0) client.idle--;
      answers.add(response);
      response.once('close', () => {
        answers.delete(response);
        if (answers.size > 0 || !this.open.has(socket)) return;
        connection.idleSince = ++this.rests;
        this.rest(client);
      });
      if (this.closing) endWith(answers);
    });
  }

  /** From now on the last answer of each connection says that it is the last (RFC 9112, 9.6). */
  announceClose(): void {
    this.closing = true;
    for (const { answers } of this.open.values()) endWith(answers);
  }

  private clientOf(key: string): Client {
    let client = this.clients.get(key);
    if (!client) this.clients.set(key, (client = { key, connections: new Map(), idle: 0 }));
    return client;
  }

  /** One more of its connections is idle. */
  private rest(client: Client | undefined): void {
    if (!client || ++client.idle <= MAX_IDLE) return;
    const [oldest] = [...client.connections]
      .filter(([, { answers }]) => answers.size === 0)
      .sort(([, a], [, b]) => a.idleSince - b.idleSince);
    oldest[0].destroy();
    // Now, because the close event comes later.
    this.forget(...oldest);
  }

  private forget(socket: Socket, { client, answers }: Connection): void {
    if (!this.open.delete(socket) || !client) return;
    if (answers.size === 0) client.idle--;
    client.connections.delete(socket);
    if (client.connections.size === 0) this.clients.delete(client.key);
  }

  /**
   * Closes connections between two requests, and those that never sent one, which Node counts as busy. A request may
   * have arrived unread, so the process reads once more before: a phase of reading lies between two immediates.
   */
  closeIdle(): void {
    setImmediate(() =>
      setImmediate(() => {
        this.closeNow();
        for (const socket of this.open.keys()) if (socket.bytesRead === 0) socket.destroy();
      }),
    );
  }
}

/** Clients may send requests before they have the answers to others. */
function endWith(answers: Set<ServerResponse>): void {
  const last = [...answers].at(-1);
  for (const answer of answers) answer.shouldKeepAlive = answer !== last;
}
