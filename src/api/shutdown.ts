import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { expectFailures } from '#platform/errors/failures';
import { Connections } from '#platform/http/connections';
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
