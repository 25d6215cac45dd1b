import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Cancelled pools are stored for a month, so that a late payment can bring them back. */
export class UnpaidPools1795798000000 implements MigrationInterface {
  name = 'UnpaidPools1795798000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'CREATE INDEX cancelled_pools_cancelled_at_idx ON cancelled_pools (cancelled_at)',
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX cancelled_pools_cancelled_at_idx');
  }
}
