import { createHash } from 'node:crypto';

/**
 * 32 hex digits that stand for a pool which only its contract's name for it is known of. Nobody can find a name whose
 * digits are the id of another pool.
 */
export const standIn = (contract: string, name: string): string =>
  createHash('sha256').update(`${contract} ${name}`).digest('hex').slice(0, 32);
