import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientKey, plainAddress, trustedProxies } from './client-address';

/**
 * Idle connections that a client may hold. Browsers hold 6, and busy clients behind one office address hold dozens. A
 * thousand such addresses stay below the usual limits of open files.
 */
export const MAX_IDLE = 256;

interface Connection {
  /** The client's key. Undefined for trusted proxies, which are not counted. */
  peer?: string;
  /** Answers that are not sent completely yet. */
  answers: Set<ServerResponse>;
  /** Whether it has sent a complete request. */
  used: boolean;
}

/**
 * Idle connections of a client, longest idle first: those that never sent a request, and those between two requests.
 */
interface Idle {
  unused: Set<Socket>;
  resting: Set<Socket>;
}

/**
 * The open connections of a server. Create it before the server listens. When a client has more than `MAX_IDLE` idle
 * connections, its oldest is closed; those that never sent a request go first. Proxies in TRUST_PROXY speak for many
 * clients, so they have no limit.
 */
export class Connections {
  private readonly open = new Map<Socket, Connection>();
  private readonly idle = new Map<string, Idle>();
  private readonly closeNow: () => void;
  private closing = false;

  constructor(server: Server, proxies: string[] = []) {
    this.closeNow = server.closeIdleConnections.bind(server);
    // Node's own `close` calls it too.
    server.closeIdleConnections = () => this.closeIdle();
    const isProxy = trustedProxies(proxies);
    server.on('connection', (socket) => {
      const address = plainAddress(socket.remoteAddress ?? '');
      const counted = address !== undefined && !isProxy(address);
      const connection = {
        peer: counted ? clientKey(address) : undefined,
        answers: new Set<ServerResponse>(),
        used: false,
      };
      this.open.set(socket, connection);
      this.rest(socket, connection);
      socket.once('close', () => {
        this.open.delete(socket);
        this.wake(socket, connection);
      });
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const connection = this.open.get(socket);
      if (!connection) return;
      const { answers } = connection;
      this.wake(socket, connection);
      connection.used = true;
      answers.add(response);
      response.once('close', () => {
        answers.delete(response);
        if (answers.size === 0 && this.open.has(socket)) this.rest(socket, connection);
      });
      if (this.closing) endWith(answers);
    });
  }

  /** From now on the last answer of each connection says that it is the last (RFC 9112, 9.6). */
  announceClose(): void {
    this.closing = true;
    for (const { answers } of this.open.values()) endWith(answers);
  }

  private rest(socket: Socket, connection: Connection): void {
    const { peer, used } = connection;
    if (peer === undefined) return;
    let idle = this.idle.get(peer);
    if (!idle) this.idle.set(peer, (idle = { unused: new Set(), resting: new Set() }));
    (used ? idle.resting : idle.unused).add(socket);
    if (idle.unused.size + idle.resting.size <= MAX_IDLE) return;
    const [oldest] = idle.unused.size > 0 ? idle.unused : idle.resting;
    oldest.destroy();
    // Now, because the close event comes later.
    this.wake(oldest, connection);
  }

  private wake(socket: Socket, { peer }: Connection): void {
    const idle = peer === undefined ? undefined : this.idle.get(peer);
    if (!idle) return;
    idle.unused.delete(socket);
    idle.resting.delete(socket);
    if (idle.unused.size + idle.resting.size === 0) this.idle.delete(peer!);
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
