import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { Connections } from './common/connections';
import type { Environment } from './config/environment';
import { HealthService } from './health/health.service';

/** How long load balancers get, in ms, to see that readiness failed before new connections are refused. */
const NOTICE = 1500;
/** After this, in ms, requests that still run are cut, so that the process ends within 10 s of the signal. */
const GRACE = 7000;

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
    drain(app, NODE_ENV === 'production' ? NOTICE : 0).then(
      () => exit(logger, 0),
      (error: Error) => {
        logger.error({ err: error }, 'shutdown failed');
        exit(logger, 1);
      },
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  // Under a parent that forked it (npm start) the process says when it is ready, and does not outlive it.
  process.on('disconnect', () => stop('disconnect'));
  process.send?.('listening');
}

const connections = new WeakMap<Server, Connections>();

/** Keeps account of the connections of a server that does not listen yet, for it to be drained later. */
export function watchConnections(server: Server, proxies: string[]): void {
  connections.set(server, new Connections(server, proxies));
}

/** @param notice ms in which requests are still accepted after readiness failed */
export async function drain(app: NestFastifyApplication, notice: number): Promise<void> {
  app.get(HealthService).drain();
  await new Promise((resolve) => setTimeout(resolve, notice));
  const server = app.getHttpServer();
  // Idle connections would keep the server open for as long as the client likes.
  const idle = setInterval(() => connections.get(server)?.closeIdle(), 100);
  const all = setTimeout(() => server.closeAllConnections(), GRACE);
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
