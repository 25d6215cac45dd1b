import type { MigrationInterface } from 'typeorm';

/** Made a function, which is in `functions` now. The name stays for the databases that have it. */
export class HoldingReaders1795799000000 implements MigrationInterface {
  name = 'HoldingReaders1795799000000';

  async up(): Promise<void> {}

  async down(): Promise<void> {}
}
