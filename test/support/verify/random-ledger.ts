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

/** A statement or two on the ledger, of whatever rows there are when it is carried out. */
export const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('insert' as const),
      rows,
      pick,
      user,
      kind,
      amount,
      status: fc.constantFrom('CONFIRMED' as const, 'EXPIRED' as const, 'PENDING' as const),
      hours: fc.nat(60),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('status' as const),
      rows,
      pick,
      status: fc.constantFrom('PENDING', 'CONFIRMED', 'EXPIRED'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('amount' as const), rows, pick, amount }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), rows, pick }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('accrue' as const),
      rows,
      pick,
      amount,
      apr: fc.nat(20_000),
      block: fc.nat(40),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('unaccrue' as const), rows, pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pool' as const), user, type: fc.constantFrom(...POOL_TYPES) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('join' as const), user, pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('leave' as const), user, pick }) },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const chosen = (table: string, key: string): string =>
  `(SELECT ${key} FROM ${table} ORDER BY hashtext(${table}::text || $1::text) LIMIT $2)`;

export async function perform(client: Client, users: SignedIn[], step: Step): Promise<void> {
  const run = async (text: string, ...values: unknown[]): Promise<void> => {
    await client.query(text, values);
  };
  switch (step.do) {
    case 'insert': {
      const pools = await client.query<{ id: string }>(`SELECT * FROM ${chosen('pools', 'id')} x`, [
        step.pick,
        1,
      ]);
      for (let i = 0; i < step.rows && pools.rows[0]; i++)
        await client.query(
          INSERT_ROW,
          rowValues(
            ledgerRow({
              poolId: pools.rows[0].id,
              account: users[step.user].address,
              type: step.kind,
              amount: step.amount,
              status: step.status,
              createdAt: new Date(Date.UTC(2025, 0, 1, step.hours, i)),
            }),
          ),
        );
      return;
    }
    case 'status':
      return step.status === 'CONFIRMED'
        ? run(
            `UPDATE transactions SET status = 'CONFIRMED', tx_hash = md5(id::text), block_number = 1, log_index = 0
             WHERE id IN ${chosen('transactions', 'id')}`,
            step.pick,
            step.rows,
          )
        : run(
            `UPDATE transactions SET status = $3, tx_hash = NULL, block_number = NULL, log_index = NULL
             WHERE id IN ${chosen('transactions', 'id')}`,
            step.pick,
            step.rows,
            step.status,
          );
    case 'amount':
      return run(
        `UPDATE transactions SET amount = $3 WHERE id IN ${chosen('transactions', 'id')}`,
        step.pick,
        step.rows,
        step.amount,
      );
    case 'delete':
      return run(
        `DELETE FROM transactions WHERE id IN ${chosen('transactions', 'id')}`,
        step.pick,
        step.rows,
      );
    case 'accrue':
      return run(
        `INSERT INTO yield_accruals (pool_id, block_number, log_index, amount, apr_bps, accrued_at)
         SELECT id, $3, 0, $4, $5, now() FROM ${chosen('pools', 'id')} x ON CONFLICT DO NOTHING`,
        step.pick,
        step.rows,
        step.block,
        step.amount,
        step.apr,
      );
    case 'unaccrue':
      return run(
        `DELETE FROM yield_accruals WHERE (pool_id, block_number, log_index) IN
           ${chosen('yield_accruals', 'pool_id, block_number, log_index')}`,
        step.pick,
        step.rows,
      );
    case 'pool': {
      const { user: owner, address } = users[step.user];
      const id = uuidv7();
      await run(
        `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
         VALUES ($1, $2, $3, $4, now(), now())`,
        id,
        step.type,
        owner.id,
        CONTRACTS[step.type],
      );
      return run(`INSERT INTO pool_members VALUES ($1, $2, 'OWNER', $3)`, id, address, step.type);
    }
    case 'join':
      return run(
        `INSERT INTO pool_members SELECT id, $3, 'MEMBER', type FROM pools WHERE id IN ${chosen('pools', 'id')}
         ON CONFLICT DO NOTHING`,
        step.pick,
        1,
        users[step.user].address,
      );
    case 'leave':
      return run(
        `DELETE FROM pool_members WHERE address = $3 AND role = 'MEMBER' AND pool_id IN ${chosen('pools', 'id')}`,
        step.pick,
        2,
        users[step.user].address,
      );
    case 'drop': {
      const { rows: pools } = await client.query(`SELECT * FROM ${chosen('pools', 'id')} x`, [step.pick, 1]);
      const { id } = (pools[0] ?? {}) as { id?: string };
      for (const [table, key] of [
        ['transactions', 'pool_id'],
        ['yield_accruals', 'pool_id'],
        ['pools', 'id'],
      ])
        await run(`DELETE FROM ${table} WHERE ${key} = $1`, id ?? null);
    }
  }
}
