import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Pool, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { isUnavailable } from './unavailable';

/** A statement that PostgreSQL parses and plans once per connection; the name must be unique in the service. */
export interface Statement {
  name: string;
  text: string;
}

/** Requests that may wait for a connection; more would be answered too late anyway. */
const MAX_WAITING = 1000;

/**
 * Runs named prepared statements on the pool beneath TypeORM. Hot paths use it, as building the query and
 * hydrating entities in TypeORM costs several times what the statement itself does.
 */
@Injectable()
export class Database {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  get pool(): Pool {
    return (this.dataSource.driver as unknown as { master: Pool }).master;
  }

  /** @throws what pg throws; `isUnavailable` tells whether the database was the reason */
  query<Row extends QueryResultRow>(statement: Statement, values: unknown[]): Promise<Row[]> {
    const pool = this.pool;
    return new Promise((resolve, reject) => {
      if (pool.waitingCount >= MAX_WAITING)
        return reject(new Error('too many waiting for a database connection'));
      // Callbacks, as the driver's promises around each of the two steps cost more than the steps.
      pool.connect((connectError, client, release) => {
        if (connectError || !client) return reject(connectError ?? new Error('no connection'));
        const { name, text } = statement;
        client.query<Row>({ name, text, values }, (error: Error | null, result) => {
          // A connection that failed or timed out may still be busy: it is closed, not used again.
          release(error !== null && isUnavailable(error));
          if (error) reject(error);
          else resolve(result.rows);
        });
      });
    });
  }

  async one<Row extends QueryResultRow>(statement: Statement, values: unknown[]): Promise<Row | undefined> {
    return (await this.query<Row>(statement, values))[0];
  }
}
