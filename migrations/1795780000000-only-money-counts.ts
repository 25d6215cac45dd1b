import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A deletion removes the member from pools that were cancelled. */
export class OnlyMoneyCounts1795780000000 implements MigrationInterface {
  name = 'OnlyMoneyCounts1795780000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'CREATE INDEX cancelled_pools_members_idx ON cancelled_pools USING gin (members)',
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX cancelled_pools_members_idx');
  }
}
