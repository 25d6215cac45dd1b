import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { tracingChannel } from 'node:diagnostics_channel';
import type { Pool, PoolConfig, QueryResultRow } from 'pg';
import type { Counter } from 'prom-client';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { checkSettings, onceAvailable } from '#platform/postgres/connection-settings';
import { DatabasePool } from '#platform/postgres/database-pool';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { type Statement, type TypedStatement, valuesOf } from '#platform/postgres/statement';
import { poolOf } from '#platform/postgres/typeorm-internals';
import { JoinedWrites } from '#platform/statements/joined-writes';
import { ReadPool, SlowReads } from '#platform/statements/slow-reads';
import { StandbyReads } from '#platform/statements/standby-reads';
import type { StatementPool } from '#platform/statements/statement-pool';
import { WritePool } from '#platform/statements/write-pool';
import { within } from '#platform/timing/waits';
import { namedStatementSettings, poolSizes, readPoolOptions, writePoolOptions } from './data-source';

/** The longest wait for the server at shutdown. */
const END_MS = 1000;

/**
 * Runs named prepared statements over pools of their own, reads in batches and each write alone, as docs/statements.md
 * says. Hot paths use it, because queries of TypeORM cost several times the statement itself.
 *
 * Its methods throw `DatabaseUnavailable` and pg's `DatabaseError`; `isUnavailable` tells whether the database was
 * the reason. A failed write was not done and will not be, except with `OutcomeUnknown`: then it may have been done, or
 * the server may still do it until 3.9 s after the request, or a commit that waits for its standby may succeed later.
 */
@Injectable()
export class Database implements OnModuleInit, OnApplicationShutdown {
  private readonly writes: WritePool;
  private readonly slow: SlowReads;
  private readonly reads: StatementPool;
  private readonly standbys?: StandbyReads;
  private readonly joined = new Map<Statement, JoinedWrites>();

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly environment: PostgresSettings,
    @InjectMetric('standby_reads_total') standbyReads: Counter<'outcome'>,
    @InjectMetric('slow_reads_total') slowReads: Counter<'outcome'>,
  ) {
    // The database recognises the indexer's writes by this name.
    const { applicationName: application_name } = dataSource.options as Extract<
      DataSourceOptions,
      { type: 'postgres' }
    >;
    const { limits, DATABASE_READ_URL } = environment;
    const { reads, slow } = poolSizes(environment.DATABASE_POOL_SIZE);
    const open = (options: PoolConfig): DatabasePool => new DatabasePool({ ...options, application_name });
    this.writes = new WritePool(open(writePoolOptions(environment)), limits);
    this.slow = new SlowReads(this.writes, slow, slowReads);
    // If there are enough connections, reads have their own, because a write may wait for a lock.
    this.reads = reads ? new ReadPool(open(readPoolOptions(environment)), limits, this.slow) : this.writes;
    if (!DATABASE_READ_URL) return;
    const options = { ...readPoolOptions(environment), connectionString: DATABASE_READ_URL };
    const primary = { reads: this.reads, slow: this.slow };
    this.standbys = new StandbyReads(new DatabasePool(options), limits, primary, standbyReads);
  }

  /** @throws Error when a pooler does not pass on the connections' settings */
  async onModuleInit(): Promise<void> {
    await onceAvailable(async () => {
      await checkSettings(this.writes.pool, namedStatementSettings(this.environment));
      if (!(this.reads instanceof ReadPool)) return;
      const { rows } = await this.reads.pool.query<{ statement_timeout: string }>('SHOW statement_timeout');
      this.reads.sessionLimit = rows[0].statement_timeout;
    });
  }

  /** Connections of all pools of this process. `waiting` counts statements and requests that wait for one. */
  get connections(): { busy: number; idle: number; waiting: number } {
    const typeorm = poolOf(this.dataSource);
    const pools = [...new Set([this.writes.pool, this.reads.pool, typeorm])];
    const sum = (count: (pool: Pool) => number): number =>
      pools.reduce((total, pool) => total + count(pool), 0);
    const waiting = new Set([this.reads, this.writes, this.slow, ...this.joined.values()]);
    return {
      busy: sum(({ totalCount, idleCount }) => totalCount - idleCount),
      idle: sum(({ idleCount }) => idleCount),
      waiting: [...waiting].reduce((total, each) => total + each.waiting, typeorm.waitingCount),
    };
  }

  async read<P extends object, Row extends QueryResultRow>(
    statement: TypedStatement<P, Row>,
    values: P,
  ): Promise<Row | undefined> {
    return (await this.readAll(statement, values))[0];
  }

  /** A standby may serve it, if the statement is marked for it. */
  readAll<P extends object, Row extends QueryResultRow>(
    statement: TypedStatement<P, Row>,
    values: P,
  ): Promise<Row[]> {
    const parameters = valuesOf(statement, values);
    const { standbys } = this;
    if (statement.onStandby && standbys)
      return traced(statement, 'read', () => standbys.run<Row>(statement, parameters));
    return traced(statement, 'read', () => this.reads.run<Row>(statement, parameters, { writes: false }));
  }

  async write<P extends object, Row extends QueryResultRow>(
    statement: TypedStatement<P, Row>,
    values: P,
  ): Promise<Row | undefined> {
    return (await this.writeAll(statement, values))[0];
  }

  /** The statement is a transaction of its own. */
  writeAll<P extends object, Row extends QueryResultRow>(
    statement: TypedStatement<P, Row>,
    values: P,
  ): Promise<Row[]> {
    const parameters = valuesOf(statement, values);
    return traced(statement, 'write', () => this.writes.run<Row>(statement, parameters, { writes: true }));
  }

  /**
   * All rows of a statement that writes, and whose parameters are all arrays. Calls at the same time may run as one
   * statement, with their arrays one after the other; each gets the rows of all.
   */
  writeJoined<P extends { [Name in keyof P]: readonly unknown[] }, Row extends QueryResultRow>(
    statement: TypedStatement<P, Row>,
    values: P,
  ): Promise<Row[]> {
    if (!this.joined.has(statement)) this.joined.set(statement, new JoinedWrites(this.writes, statement));
    const joined = this.joined.get(statement)!;
    const parameters = valuesOf(statement, values) as unknown[][];
    return traced(statement, 'joined', () => joined.run<Row>(parameters));
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.writes.pool.ending) return;
    const pools = new Set([this.writes, this.reads, this.standbys].map((each) => each?.pool));
    await within(END_MS, Promise.all([...pools].map(async (pool) => pool?.end())));
  }
}

/** A call of `Database`: the message of the channel. Without the values, which may be secret. */
export interface StatementCall {
  readonly name: string;
  readonly kind: 'read' | 'write' | 'joined';
  /** Set by Node before `error` and `asyncEnd`. */
  error?: unknown;
  /** The rows. Set by Node before `asyncEnd`. */
  result?: unknown;
}

/**
 * Subscribe with the same name. `start` is published in the caller's async context. A call that began before, for other
 * subscribers, has only an end.
 */
const channel = tracingChannel<unknown, StatementCall>('database:statement');

/** It costs nothing while there are no subscribers. */
function traced<Result>(
  { name }: Statement,
  kind: StatementCall['kind'],
  run: () => Promise<Result>,
): Promise<Result> {
  if (!channel.hasSubscribers) return run();
  return channel.tracePromise(run, { name, kind });
}
