import { DataSource } from 'typeorm';
import { dataSourceOptions } from '#platform/database/data-source';

const { DATABASE_URL } = process.env;
if (!DATABASE_URL) throw new Error('DATABASE_URL is required');

/** For the TypeORM command line: migrations run with planner defaults and without a statement timeout. */
export default new DataSource(
  dataSourceOptions({ DATABASE_URL, DATABASE_POOL_SIZE: 2, statementTimeout: 0 }, 'indexer'),
);
