import type { MigrationInterface, QueryRunner } from 'typeorm';

/** History is not published event by event. */
export class PublishedFrom1795800000000 implements MigrationInterface {
  name = 'PublishedFrom1795800000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE chain_cursor ADD COLUMN published_from bigint NOT NULL DEFAULT 0');
    await queryRunner.query(`
      COMMENT ON COLUMN chain_cursor.published_from IS 'Blocks before this one were history when the indexer read them: '
        'their events were announced together'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE chain_cursor DROP COLUMN published_from');
  }
}
