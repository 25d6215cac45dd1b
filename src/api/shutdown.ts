import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { expectFailures } from '#platform/errors/failures';
import { clientKey, plainAddress, trustedProxies } from '#platform/http/client-address';
import { runUntilSignal } from '#platform/http/probes';
import { HealthService } from '#features/health/health.service';
import type { Environment } from '#settings/environment';

/** Time for load balancers to see the failing readiness before new connections are refused. */
const NOTICE_MS = 1500;
/** After this time running requests are cut, so that the process ends within 10 s of the signal. */
export const GRACE_MS = 7000;

/**
 * Listens, and when it is to stop drains: readiness fails, requests in flight finish.
 * @returns when the last connection is closed
 */
export const serve = (
  app: NestFastifyApplication,
  { HOST, PORT, NODE_ENV }: Environment,
  logger: Logger,
): Promise<void> =>
  runUntilSignal(app, [PORT, HOST], new Promise(() => undefined), logger, () =>
    drain(app, NODE_ENV === 'production' ? NOTICE_MS : 0),
  );

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

/**
 * Idle connections that a client may hold. Browsers hold 6, and busy clients behind one office address hold dozens. A
 * thousand such addresses stay below the usual limits of open files.
 */
export const MAX_IDLE = 256;

/**
 * The open connections of a server. Create it before the server listens. When a client has more than `MAX_IDLE` idle
 * connections, the one that is idle for longest is closed; those that never sent a request go first. Proxies in TRUST_PROXY
 * speak for many clients, so they have no limit.
 */
class Connections {
  /** With the client; undefined for trusted proxies. */
  private readonly open = new Map<Socket, string | undefined>();
  /** By client, in the order in which they became idle. */
  private readonly idle = new Map<string, Set<Socket>>();
  /** Connections that have sent a request, with the answer to the latest one until it is sent. */
  private readonly answers = new Map<Socket, ServerResponse | undefined>();
  private readonly closeNow: () => void;
  private closing = false;

  constructor(server: Server, proxies: string[] = []) {
    this.closeNow = server.closeIdleConnections.bind(server);
    // Node's own `close` calls it too.
    server.closeIdleConnections = () => this.closeIdle();
    const isProxy = trustedProxies(proxies);
    server.on('connection', (socket) => {
      const address = plainAddress(socket.remoteAddress ?? '');
      this.open.set(socket, address === undefined || isProxy(address) ? undefined : clientKey(address));
      this.rest(socket);
      socket.once('close', () => {
        this.wake(socket);
        this.open.delete(socket);
        this.answers.delete(socket);
      });
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.wake(socket);
      // Clients may send requests before they have the answers to others.
      const before = this.answers.get(socket);
      if (this.closing && before) before.shouldKeepAlive = true;
      this.answers.set(socket, response);
      response.once('close', () => {
        if (this.answers.get(socket) !== response) return;
        if (!socket.destroyed) this.answers.set(socket, undefined);
        this.rest(socket);
      });
      if (this.closing) response.shouldKeepAlive = false;
    });
  }

  /** From now on the last answer of each connection says that it is the last (RFC 9112, 9.6). */
  announceClose(): void {
    this.closing = true;
    for (const answer of this.answers.values()) if (answer) answer.shouldKeepAlive = false;
  }

  private rest(socket: Socket): void {
    const client = this.open.get(socket);
    if (client === undefined || socket.destroyed) return;
    const idle = this.idle.get(client) ?? new Set();
    this.idle.set(client, idle.add(socket));
    if (idle.size <= MAX_IDLE) return;
    const [oldest] = idle;
    const surplus = [...idle].find((each) => !this.answers.has(each)) ?? oldest;
    this.wake(surplus);
    surplus.destroy();
  }

  private wake(socket: Socket): void {
    const client = this.open.get(socket)!;
    const idle = this.idle.get(client);
    if (idle?.delete(socket) && idle.size === 0) this.idle.delete(client);
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
