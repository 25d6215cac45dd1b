import fc from 'fast-check';
import type { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { POOL_TYPES } from '#values/types';
import { CONTRACTS, type SignedIn } from '../app';
import { INSERT_ROW, ledgerRow, rowValues } from '../ledger';

/** One of three. */
export const user = fc.nat(2);
const amount = fc.oneof(fc.bigInt(0n, 50n), fc.bigInt(0n, 2n ** 240n)).map(String);
const rows = fc.integer({ min: 1, max: 4 });
/** Picks rows of a table, the same ones for the same number while the table is the same. */
const pick = fc.nat(1000);
const kind = fc.constantFrom('DEPOSIT' as const, 'WITHDRAWAL' as const, 'YIELD_CLAIM' as const);

/** One of these steps, which occurs so often among them. */
const chance = <K extends string, F extends Record<string, fc.Arbitrary<unknown>>>(
  weight: number,
  name: K,
  fields: F,
) => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(name), ...fields }) as fc.Arbitrary<
    { do: K } & { [N in keyof F]: F[N] extends fc.Arbitrary<infer T> ? T : never }
  >,
});
const status = fc.constantFrom('CONFIRMED' as const, 'EXPIRED' as const, 'PENDING' as const);

/** A statement or two on the ledger, of whatever rows there are when it is carried out. */
export const step = fc.oneof(
  chance(5, 'insert', { rows, pick, user, kind, amount, status, hours: fc.nat(60) }),
  chance(3, 'status', { rows, pick, status }),
  chance(2, 'amount', { rows, pick, amount }),
  chance(3, 'delete', { rows, pick }),
  chance(3, 'accrue', { rows, pick, amount, apr: fc.nat(20_000), block: fc.nat(40) }),
  chance(2, 'unaccrue', { rows, pick }),
  chance(1, 'pool', { user, type: fc.constantFrom(...POOL_TYPES) }),
  chance(1, 'drop', { pick }),
  chance(2, 'join', { user, pick }),
  chance(2, 'leave', { user, pick }),
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/**
 * Errors that the database may return when others write too: negative balances and yields, rows that were removed
 * meanwhile, of which a removed pool leaves a transaction without an owner, and deadlocks.
 */
export const RACES = ['23514', '23503', '23502', '40P01'];

const chosen = (table: string, key = 'id'): string =>
  `(SELECT ${key} FROM ${table} ORDER BY hashtext(${table}::text || $1::text) LIMIT $2)`;

export async function perform(client: Client, users: SignedIn[], step: Step): Promise<void> {
  const { pick: at = 0, rows: count = 1 } = step as { pick?: number; rows?: number };
  const query = async (text: string, ...values: unknown[]): Promise<void> =>
    void (await client.query(text, values));
  /** On the rows that are picked. */
  const run = (text: string, ...values: unknown[]): Promise<void> => query(text, at, count, ...values);
  const aPool = async (): Promise<string | undefined> =>
    (await client.query<{ id: string }>(`SELECT * FROM ${chosen('pools')} x`, [at, 1])).rows[0]?.id;
  switch (step.do) {
    case 'insert': {
      const poolId = await aPool();
      const { kind: type, amount: sum, status: is, hours } = step;
      for (let i = 0; i < count && poolId; i++) {
        const createdAt = new Date(Date.UTC(2025, 0, 1, hours, i));
        const { address: account } = users[step.user];
        const row = ledgerRow({ poolId, account, type, amount: sum, status: is, createdAt });
        await client.query(INSERT_ROW, rowValues(row));
      }
      return;
    }
    case 'status': {
      const [hash, block, time] =
        step.status === 'CONFIRMED' ? ['md5(id::text)', '1', 'confirmed_at'] : Array<string>(3).fill('NULL');
      return run(
        `UPDATE transactions SET status = $3, tx_hash = ${hash}, block_number = ${block},
         log_index = ${block} - 1, confirmed_at = ${time} WHERE id IN ${chosen('transactions')}`,
        step.status,
      );
    }
    case 'amount':
      return run(`UPDATE transactions SET amount = $3 WHERE id IN ${chosen('transactions')}`, step.amount);
    case 'delete':
      return run(`DELETE FROM transactions WHERE id IN ${chosen('transactions')}`);
    case 'accrue':
      return run(
        `INSERT INTO yield_accruals (pool_id, block_number, log_index, amount, apr_bps, accrued_at)
         SELECT id, $3, 0, $4, $5, now() FROM ${chosen('pools')} x ON CONFLICT DO NOTHING`,
        ...[step.block, step.amount, step.apr],
      );
    case 'unaccrue':
      return run(
        `DELETE FROM yield_accruals WHERE (pool_id, block_number, log_index) IN
           ${chosen('yield_accruals', 'pool_id, block_number, log_index')}`,
      );
    case 'pool': {
      const { user: owner, address } = users[step.user];
      const id = uuidv7();
      await query(
        `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
         VALUES ($1, $2, $3, $4, now(), now())`,
        ...[id, step.type, owner.id, CONTRACTS[step.type]],
      );
      return query(`INSERT INTO pool_members VALUES ($1, $2, 'OWNER', $3)`, id, address, step.type);
    }
    case 'join':
      return run(
        `INSERT INTO pool_members SELECT id, $3, 'MEMBER', type FROM pools WHERE id IN ${chosen('pools')}
         ON CONFLICT DO NOTHING`,
        users[step.user].address,
      );
    case 'leave':
      return query(
        `DELETE FROM pool_members WHERE address = $3 AND role = 'MEMBER' AND pool_id IN ${chosen('pools')}`,
        ...[at, 2, users[step.user].address],
      );
    case 'drop': {
      const id = await aPool();
      for (const key of ['transactions WHERE pool_id', 'yield_accruals WHERE pool_id', 'pools WHERE id'])
        await query(`DELETE FROM ${key} = $1`, id ?? null);
    }
  }
}
