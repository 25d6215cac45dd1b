import type { Client } from 'pg';

/** Held while derived data is written by hand; `verify --repair` takes the same: two at once would add to a sum twice. */
const REPAIR_LOCK = 4_361_002;

/** @throws when another process corrects this database */
export async function lockRepair(client: Client): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    REPAIR_LOCK,
  ]);
  if (!rows[0].locked) throw new Error('another process is mending this database');
}

/** The schema of the tables, quoted: tables of the session stand before its own. */
export async function schemaOf(client: Client): Promise<string> {
  const text = 'SELECT quote_ident(current_schema()) AS name';
  return (await client.query<{ name: string }>(text)).rows[0].name;
}

/** A conflict with another transaction, which was not done. */
const CONFLICTS = /^(40001|40P01|55P03)$/;
const MAX_TRIES = 5;

/**
 * One transaction that may write what is derived, while the indexer's batches wait. Tries again after a conflict.
 * @param work gets the last block that takes effect
 */
export async function correct<T>(
  client: Client,
  holdCursor: string,
  work: (effective: number) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query(`BEGIN; SELECT set_config('savings.repair', pg_current_xact_id()::text, true)`);
      const { rows } = await client.query<{ effective: string }>(holdCursor);
      const result = await work(Number(rows[0].effective));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      if (tries === MAX_TRIES || !CONFLICTS.test((error as { code?: string }).code ?? '')) throw error;
    }
  }
}
