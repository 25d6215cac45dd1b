import { Get, Headers, Res } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyReply, LogController } from 'fastify';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { invalidToken } from '#platform/errors/errors';
import type { Metrics } from '#platform/operating/metrics';
import { atMostEvery } from '#platform/timing/at-most-every';
import { mayScrape } from './bearer';
import type { HttpSettings } from './http.settings';

/** Reads within this time get the same text. */
const REUSE_MS = 1000;

/** To extend, with `health`: the port of a process that serves no clients, for probes and Prometheus. */
export abstract class ProbesController {
  private readonly text;

  constructor(
    private readonly exposed: Metrics,
    private readonly settings: HttpSettings,
  ) {
    this.text = atMostEvery(REUSE_MS, () => exposed.metrics());
  }

  /** Always 200: a restart repairs nothing that the process could find wrong. */
  @Get('health/live')
  live(): object {
    return { status: 'alive' };
  }

  /** In the Prometheus text format; open unless METRICS_TOKEN is set. */
  @Get('metrics')
  metrics(
    @Headers('authorization') authorization: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    if (!mayScrape(authorization, this.settings)) throw invalidToken();
    void reply.header('content-type', this.exposed.registry.contentType);
    return this.text();
  }
}

/** Probes are not logged. They are answered until the process ends, and connections that they keep open do not delay that. */
export const probesAdapter = (loggerInstance: Logger): FastifyAdapter =>
  new FastifyAdapter({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    return503OnClosing: false,
    forceCloseConnections: true,
  });

/**
 * Runs until a signal, or until its parent (`npm start`) is gone. The application is closed then, whatever the reason.
 * @param ended rejects when the process cannot go on
 * @param end closes the application
 * @throws what listening throws, and the reason of `ended`
 */
export async function runUntilSignal(
  app: NestFastifyApplication,
  [port, host]: [number, string],
  ended: Promise<unknown>,
  logger: Logger,
  end = (): Promise<void> => app.close(),
): Promise<void> {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= end());
  // The error is what the operator has to see, whatever else fails.
  const closeAfter = async (error: Error): Promise<never> => {
    await close().catch((another: Error) => logger.error({ err: another }, 'shutdown failed'));
    throw error;
  };
  const stopped = new Promise<void>((resolve, reject) => {
    const stop = (signal = 'disconnect'): void => {
      if (!closing) logger.info({ signal }, 'stopping');
      close().then(resolve, reject);
    };
    process
      .on('SIGTERM', stop)
      .on('SIGINT', stop)
      .on('disconnect', () => stop());
    ended.catch(closeAfter).catch(reject);
  });
  const listening = app.listen(port, host).catch(closeAfter);
  await Promise.race([stopped, listening]);
  // A process that a signal has stopped meanwhile has no port.
  if (!closing) process.send?.({ port: (app.getHttpServer().address() as AddressInfo).port });
  await stopped;
}
