import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientKey, plainAddress } from './client-address';
import { trustedProxies } from './proxies';

/**
 * Idle connections that a client may hold. Browsers hold 6, and busy clients behind one office address hold dozens. A
 * thousand such addresses stay below the usual limits of open files.
 */
export const MAX_IDLE = 256;

interface Connection {
  /** The client's key. Undefined for trusted proxies, which are not counted. */
  peer?: string;
  /** Requests without an answer yet. */
  requests: number;
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

  constructor(
    private readonly server: Server,
    proxies: string[] = [],
  ) {
    const isProxy = trustedProxies(proxies);
    server.on('connection', (socket) => {
      const address = plainAddress(socket.remoteAddress ?? '');
      const counted = address !== undefined && !isProxy(address);
      const connection = { peer: counted ? clientKey(address) : undefined, requests: 0, used: false };
      this.open.set(socket, connection);
      this.rest(socket, connection);
      socket.once('close', () => {
        this.open.delete(socket);
        this.wake(socket, connection);
      });
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const connection = this.open.get(socket);
      if (connection?.peer === undefined) return;
      this.wake(socket, connection);
      connection.used = true;
      connection.requests += 1;
      response.once('close', () => {
        connection.requests -= 1;
        if (connection.requests === 0 && this.open.has(socket)) this.rest(socket, connection);
      });
    });
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

  /** Closes connections between two requests, and those that never sent one, which Node counts as busy. */
  closeIdle(): void {
    this.server.closeIdleConnections();
    for (const socket of this.open.keys()) if (socket.bytesRead === 0) socket.destroy();
  }
}
