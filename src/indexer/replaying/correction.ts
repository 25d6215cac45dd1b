import type { Client } from 'pg';
import { mending } from '#verify/checks/connection';
import { HOLD_CURSOR } from './events.sql';

/**
 * One transaction that may write what is derived, while the indexer's batches wait. Tries again after a conflict.
 * @param work gets the last block that takes effect
 */
export const correct = <T>(client: Client, work: (effective: number) => Promise<T>): Promise<T> =>
  mending(client, async () => {
    const { rows } = await client.query<{ effective: string }>(HOLD_CURSOR);
    return work(Number(rows[0].effective));
  });
