import type { MigrationInterface, QueryRunner } from 'typeorm';

/** For each submitted payment the indexer looks for events without effect, and anyone can cause many of these. */
export class SetAsideByHash1795795000000 implements MigrationInterface {
  name = 'SetAsideByHash1795795000000';
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX CONCURRENTLY IF EXISTS chain_events_set_aside_hash_idx');
    await queryRunner.query(`CREATE INDEX CONCURRENTLY chain_events_set_aside_hash_idx ON chain_events (tx_hash)
      WHERE outcome NOT IN ('WAITING', 'APPLIED')`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX chain_events_set_aside_hash_idx');
  }
}
