import type { MigrationInterface, QueryRunner } from 'typeorm';

const comment = (more: string): string => `
  COMMENT ON COLUMN submissions.checks IS 'How often in a row the indexer has found the same: that the chain''s nodes know '
  'the hash, or that they do not${more}'`;

/** A payment that a reorganisation takes back was on the chain: only the chain can say that it will not come again. */
export class ProvenPayments1795790000000 implements MigrationInterface {
  name = 'ProvenPayments1795790000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(comment('; -1: its payer took it back before the first look'));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(comment(''));
  }
}
