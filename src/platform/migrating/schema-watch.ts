import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Database } from '#platform/database/database';
import { ApiError } from '#platform/errors/errors';
import { Loop } from '#platform/timing/loop';
import { SCHEMA, problemBy } from './schema';

/** While the schema does not fit, it may begin to at any moment. */
const WAITING_MS = 1000;
const WATCHING_MS = 10_000;
/** Answered whatever the schema is. */
const WITHOUT_SCHEMA = /^\/(health|metrics|docs)(\/|$)/;

/** Knows whether this version can work on the schema of the database. Until it can, requests get 503. */
@Injectable()
export class SchemaWatch implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(SchemaWatch.name);
  private readonly loop = new Loop(
    () => this.look(),
    () => (this.problem ? WAITING_MS : WATCHING_MS),
  );
  /** What is wrong; undefined also while nobody could ask. */
  problem?: string;

  constructor(private readonly database: Database) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.loop.turn();
    this.loop.start();
  }

  onModuleDestroy(): void {
    void this.loop.stop();
  }

  /** A hook of Fastify. */
  readonly onRequest = (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void =>
    done(
      this.problem !== undefined && !WITHOUT_SCHEMA.test(request.routeOptions.url ?? '')
        ? new ApiError(503, 'Service unavailable', {
            details: [{ field: 'schema', message: this.problem }],
          })
        : undefined,
    );

  private async look(): Promise<void> {
    const before = this.problem;
    // Without the database this fails, and readiness says so. What was known stands.
    this.problem = await problemBy(() => this.database.read(SCHEMA, {}));
    if (this.problem === before) return;
    if (this.problem) this.logger.error(this.problem);
    else this.logger.log('the schema has the migrations of this version now');
  }
}
