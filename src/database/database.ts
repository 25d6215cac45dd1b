import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Pool, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { Lanes } from './lanes';

/** A statement that PostgreSQL parses and plans once per connection; the name must be unique in the service. */
export interface Statement {
  name: string;
  text: string;
}

/** Connections and statements at once on each. More connections only have the server switch between processes. */
const READS = { width: 4, depth: 32 };
/**
 * Commits that wait for the disk do so together. Not so many on each that the last would be given up, but still be
 * done, when every one before it waits for a lock until `lock_timeout`.
 */
const WRITES = { width: 8, depth: 4 };

/**
 * Runs named prepared statements on the pool beneath TypeORM. Hot paths use it, as building the query and
 * hydrating entities in TypeORM costs several times what the statement itself does.
 */
@Injectable()
export class Database {
  private readonly reads: Lanes;
  private readonly writes: Lanes;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {
    const { pool } = this;
    const share = Math.floor(pool.options.max / 2);
    this.reads = new Lanes(pool, Math.min(READS.width, share), READS.depth);
    // Apart from the reads, as a write may have to wait for a lock.
    this.writes = new Lanes(pool, Math.min(WRITES.width, share), WRITES.depth);
  }

  get pool(): Pool {
    return (this.dataSource.driver as unknown as { master: Pool }).master;
  }

  /** Statements that wait for a connection. */
  get waiting(): number {
    return this.reads.waiting + this.writes.waiting;
  }

  /**
   * The first row of a statement that only reads.
   * @throws what pg throws; `isUnavailable` tells whether the database was the reason
   */
  read<Row extends QueryResultRow>({ name, text }: Statement, values: unknown[]): Promise<Row | undefined> {
    return this.reads.run<Row>(name, text, values);
  }

  /** The first row of a statement that writes: a transaction of its own. Throws as `read`. */
  write<Row extends QueryResultRow>({ name, text }: Statement, values: unknown[]): Promise<Row | undefined> {
    return this.writes.run<Row>(name, text, values);
  }
}
