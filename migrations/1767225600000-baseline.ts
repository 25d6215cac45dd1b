import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const FOLDER = path.join(__dirname, '1767225600000-baseline');
const DOWN = 'down.sql';

const textOf = (file: string): string => readFileSync(path.join(FOLDER, file), 'utf8');

/**
 * The tables of version 1, of the files in the folder beside this one, by their names, and the types and functions that
 * their columns, checks and defaults need. All other functions and the triggers are in `functions`.
 */
export class Baseline1767225600000 implements MigrationInterface {
  name = 'Baseline1767225600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const files = readdirSync(FOLDER).filter((file) => file !== DOWN);
    for (const file of files.sort()) await queryRunner.query(textOf(file));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(textOf(DOWN));
  }
}
