import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const CANCEL_POOL = path.join(__dirname, '1795780000000-only-money-counts/cancel-pool.sql');
const SUBMITTED = 'IF EXISTS (SELECT FROM submissions s WHERE s.transaction_id = deposit.id)';
/** Submitting a hash costs nothing, and a hash that is never mined would keep its pool for ever. */
const FOR_A_MONTH = `${SUBMITTED}
    AND (deposit.status = 'PENDING' OR deposit.created_at > now() - interval '30 days')`;

/** Keeps pools to which a module's own rows refer, so that one such pool does not block the others. */
const KEPT: [string, string][] = [
  ['  INSERT INTO cancelled_pools', '  BEGIN\n  INSERT INTO cancelled_pools'],
  [
    "  RETURN 'cancelled';\n",
    "  RETURN 'cancelled';\n  EXCEPTION WHEN foreign_key_violation THEN RETURN 'not_empty';\n  END;\n",
  ],
];

/** Unpaid pools are cancelled, and records of cancelled pools are removed. */
export class UnpaidPools1795798000000 implements MigrationInterface {
  name = 'UnpaidPools1795798000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const changes = [[SUBMITTED, FOR_A_MONTH], ...KEPT];
    const cancelPool = changes.reduce(
      (text, [from, to]) => text.replace(from, to),
      readFileSync(CANCEL_POOL, 'utf8'),
    );
    await queryRunner.query(cancelPool);
    await queryRunner.query(
      'CREATE INDEX cancelled_pools_cancelled_at_idx ON cancelled_pools (cancelled_at)',
    );
    await queryRunner.query(`CREATE TRIGGER cancelled_pools_fixed BEFORE UPDATE OF cancelled_at ON cancelled_pools
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_write('its age decides how long it is kept')`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TRIGGER cancelled_pools_fixed ON cancelled_pools');
    await queryRunner.query('DROP INDEX cancelled_pools_cancelled_at_idx');
    await queryRunner.query(readFileSync(CANCEL_POOL, 'utf8'));
  }
}
