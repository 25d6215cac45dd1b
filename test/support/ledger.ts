import { type Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { TestApp } from './app';

export interface LedgerRow {
  id: string;
  poolId: string;
  type: 'DEPOSIT' | 'WITHDRAWAL' | 'YIELD_CLAIM';
  status: 'PENDING' | 'CONFIRMED' | 'EXPIRED';
  account: string;
  amount: string;
  txHash: string | null;
  blockNumber: number | null;
  logIndex: number | null;
  gasUsed: string | null;
  gasPrice: string | null;
  l1Fee: string | null;
  createdAt: Date;
  confirmedAt: Date | null;
}

/** With it the rest of the transaction may change derived data, if its role owns the tables. */
export const REPAIRING = `SELECT set_config('savings.repair', pg_current_xact_id()::text, true)`;

/** A row if the backend waits for a lock. */
export const IS_BLOCKED =
  'SELECT FROM pg_stat_activity WHERE pid = $1 AND cardinality(pg_blocking_pids(pid)) > 0';

/** A row for each session of the database that waits for a lock. */
export const LOCK_WAITS = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** A connection of its own, which ends with the test. Which row of a total it writes depends on the application's name. */
export const connectAs = (app: TestApp, application?: string): Promise<Client> =>
  app.connect({ application_name: application });

let counter = 0;
/** A transaction hash that no other call gives. */
export const newHash = (): string => `0x${(++counter).toString(16).padStart(64, 'a')}`;

/** A row as the indexer writes it: confirmed, unless the status says otherwise. */
export function ledgerRow(fields: Partial<LedgerRow> & Pick<LedgerRow, 'poolId' | 'account'>): LedgerRow {
  const createdAt = fields.createdAt ?? new Date();
  const confirmed = (fields.status ?? 'CONFIRMED') === 'CONFIRMED';
  return {
    id: uuidv7({ msecs: createdAt.getTime() }),
    type: 'DEPOSIT',
    status: 'CONFIRMED',
    amount: '1000',
    txHash: confirmed ? newHash() : null,
    blockNumber: confirmed ? 100 + counter : null,
    logIndex: confirmed ? 0 : null,
    gasUsed: null,
    gasPrice: null,
    l1Fee: null,
    confirmedAt: confirmed ? createdAt : null,
    ...fields,
    createdAt,
  };
}

/** SQL: the values of owner_id and by_owner, which writers of the ledger know. */
export const ownership = (pool: string, account: string): string =>
  `(SELECT owner_id FROM pools WHERE id = ${pool}), ${account} = (
    SELECT u.address FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.id = ${pool})`;

export const INSERT_ROW = `
  INSERT INTO transactions (id, pool_id, type, status, account, amount, tx_hash, block_number, log_index, gas_used,
    gas_price, l1_fee, created_at, confirmed_at, owner_id, by_owner)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, ${ownership('$2', '$5::address')})`;

const FIELDS =
  `id poolId type status account amount txHash blockNumber logIndex gasUsed gasPrice l1Fee createdAt
  confirmedAt`.split(/\s+/) as (keyof LedgerRow)[];
export const rowValues = (row: LedgerRow): unknown[] => FIELDS.map((field) => row[field]);

export async function addTransaction(
  app: TestApp,
  fields: Parameters<typeof ledgerRow>[0],
): Promise<LedgerRow> {
  const row = ledgerRow(fields);
  await app.sql(INSERT_ROW, rowValues(row));
  return row;
}

let block = 0;
/** Yield that the chain credits to a pool; later calls are later on the chain. */
export async function accrue(app: TestApp, poolId: string, amount: string, aprBps: number): Promise<number> {
  await app.sql(
    `INSERT INTO yield_accruals (pool_id, block_number, log_index, amount, apr_bps, accrued_at)
     VALUES ($1, $2, 0, $3, $4, now())`,
    [poolId, ++block, amount, aprBps],
  );
  return block;
}

/** What an account has in a pool, as the indexer writes it. */
export async function addPosition(
  app: TestApp,
  poolId: string,
  address: string,
  fields: object,
): Promise<void> {
  const amounts = 'balance weight_offset owed accruals deposited withdrawn claimed'.split(' ');
  const nothing = Object.fromEntries(amounts.map((name) => [name, 0]));
  await app.sql('INSERT INTO positions SELECT * FROM jsonb_populate_record(NULL::positions, $1::jsonb)', [
    JSON.stringify({ ...nothing, pool_id: poolId, address, ...fields }),
  ]);
}

/** As the indexer leaves a contract whose events it cannot read. */
export const quarantine = (app: TestApp, contract: string): Promise<unknown> =>
  app.sql(
    `INSERT INTO chain_contracts_apart (address, block_number, block_hash, block_time, state, reason)
     VALUES ($1, 1, '', '2026-01-01', 'quarantined', 'a test')`,
    [contract],
  );
