import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const FOLDER = path.join(__dirname, '1795780000000-only-money-counts');
const BASELINE = path.join(__dirname, '1767225600000-baseline');
/** The files of the baseline with the functions that this replaces. */
const REPLACED = ['38-functions-cancel-pools.sql', '47-functions-people.sql'];

/** What others do at no cost neither keeps a pool from being cancelled nor leaves anything of a deleted account. */
export class OnlyMoneyCounts1795780000000 implements MigrationInterface {
  name = 'OnlyMoneyCounts1795780000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const file of readdirSync(FOLDER).sort())
      await queryRunner.query(readFileSync(path.join(FOLDER, file), 'utf8'));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX cancelled_pools_members_idx');
    await queryRunner.query('DROP TRIGGER a_refuse_who_left ON new_pools');
    await queryRunner.query('DROP FUNCTION refuse_who_left');
    for (const file of REPLACED) {
      const text = readFileSync(path.join(BASELINE, file), 'utf8');
      await queryRunner.query(text.replaceAll('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'));
    }
  }
}
