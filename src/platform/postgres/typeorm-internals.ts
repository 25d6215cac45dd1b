import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';

/*
 * All that the service uses of TypeORM beside its public types. transactions-in-time.e2e-spec.ts fails if one of
 * them changes.
 */

/** The pool of TypeORM's connections, which are counted with our own. */
export const poolOf = ({ driver }: DataSource): Pool => (driver as unknown as { master: Pool }).master;

/** For the option `driver`: of pg, TypeORM uses nothing but the class of its pool. */
export const driverWith = (PoolClass: typeof Pool): { Pool: typeof Pool } => ({ Pool: PoolClass });
