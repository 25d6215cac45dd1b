import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Logs that no method of an adapter reads have no row. The ledger records only their topics. */
export class UnreadTopics1795797000000 implements MigrationInterface {
  name = 'UnreadTopics1795797000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `ALTER TABLE chain_contracts ADD COLUMN unread_topics text[] NOT NULL DEFAULT '{}'`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE chain_contracts DROP COLUMN unread_topics');
  }
}
