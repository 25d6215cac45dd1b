import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What third-party contracts say: what stays in a position after a payment of more than leaves it, and their errors. */
export class ForeignWords1795801000000 implements MigrationInterface {
  name = 'ForeignWords1795801000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE chain_events ADD COLUMN remaining numeric(78,0)');
    await queryRunner.query(`
      COMMENT ON COLUMN chain_events.remaining IS 'Of a withdrawal: what its account has in the pool after it, if the '
        'contract says so'`);
    await queryRunner.query(`ALTER TABLE chain_contracts ADD COLUMN errors jsonb NOT NULL DEFAULT '[]'`);
    await queryRunner.query(
      `COMMENT ON COLUMN chain_contracts.errors IS 'The errors of its ABI, as its adapter has it'`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE chain_contracts DROP COLUMN errors');
    await queryRunner.query('ALTER TABLE chain_events DROP COLUMN remaining');
  }
}
