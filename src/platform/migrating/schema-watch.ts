import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Database } from '#platform/database/database';
import { ApiError } from '#platform/errors/errors';
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
  private timer?: NodeJS.Timeout;
  private ended = false;
  /** What is wrong; undefined also while nobody could ask. */
  problem?: string;

  constructor(private readonly database: Database) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.look();
  }

  onModuleDestroy(): void {
    this.ended = true;
    clearTimeout(this.timer);
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
    try {
      this.problem = await problemBy(() => this.database.read(SCHEMA, {}));
    } catch {
      // Without the database, `DatabaseHealthIndicator` says so. What was known stands.
    }
    if (this.problem !== before) {
      if (this.problem) this.logger.error(this.problem);
      else this.logger.log('the schema has the migrations of this version now');
    }
    if (this.ended) return;
    this.timer = setTimeout(() => void this.look(), this.problem ? WAITING_MS : WATCHING_MS);
    this.timer.unref();
  }
}
