import { migrationSource } from '#platform/migrating/migrator';

const { DATABASE_URL } = process.env;
if (!DATABASE_URL) throw new Error('DATABASE_URL is required');

/** For the TypeORM command line, which writes migrations. `src/migrate.ts` runs them. */
export default migrationSource(DATABASE_URL);
