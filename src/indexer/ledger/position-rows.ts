import type { Client } from 'pg';
import type { PoolPositions, Position, Weights } from './positions';
import { SAVE_POSITIONS } from './positions.sql';

/** A pool, with those of its accounts that a batch touches. */
export interface LoadedPool extends PoolPositions {
  id: string;
  /** The number of accruals that the database has. */
  kept: number;
  /** Whether the pool has a row, in the database or in this batch. */
  exists: boolean;
}

/** Rows as the driver returns them and as the journal stores them. */
type Row<T> = { [K in keyof T]: T[K] extends bigint ? string : T[K] };
export type WeightsRow = Row<Weights>;
export type PositionRow = Row<Position>;

/** In the order of the parameters of SAVE_POSITIONS. */
const WEIGHT_COLUMNS = ['id', 'total', 'offset', 'accruals', 'lastTime', 'lastPerUnit'] as const;
const RATE_COLUMNS = ['id', 'number', 'time', 'perWeight', 'perUnit'] as const;
const POSITION_COLUMNS = [
  'id',
  'address',
  'balance',
  'offset',
  'owed',
  'accruals',
  'deposited',
  'withdrawn',
  'claimed',
] as const;

export const toWeights = (row: WeightsRow): Weights => ({
  total: BigInt(row.total),
  offset: BigInt(row.offset),
  accruals: row.accruals,
  lastTime: BigInt(row.lastTime),
  lastPerUnit: BigInt(row.lastPerUnit),
});

export const toPosition = (row: PositionRow): Position => ({
  balance: BigInt(row.balance),
  offset: BigInt(row.offset),
  owed: BigInt(row.owed),
  accruals: row.accruals,
  deposited: BigInt(row.deposited),
  withdrawn: BigInt(row.withdrawn),
  claimed: BigInt(row.claimed),
});

/** An array literal. The values are digits and hex, so nothing needs quoting. */
export const literal = (values: (string | number | bigint)[]): string => `{${values.join(',')}}`;

/** As JSON for the journal. */
export const toJson = (row: Weights | Position): string =>
  JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));

/** Writes the rows of these pools, and of the given accounts in each. */
export async function savePositions(client: Client, changed: Map<LoadedPool, Set<string>>): Promise<void> {
  if (changed.size === 0) return;
  const pools = [...changed.keys()].map(({ id, weights }) => ({ id, ...weights }));
  const rates = [...changed.keys()].flatMap(({ id, weights, accruals, kept }) =>
    Array.from({ length: weights.accruals - kept }, (_, i) => kept + 1 + i).map((number) => ({
      id,
      number,
      ...accruals.get(number)!,
    })),
  );
  const positions = [...changed].flatMap(([{ id, positions: all }, accounts]) =>
    [...accounts].map((address) => ({ id, address, ...all.get(address)! })),
  );
  const values = [
    ...WEIGHT_COLUMNS.map((column) => literal(pools.map((row) => row[column]))),
    ...RATE_COLUMNS.map((column) => literal(rates.map((row) => row[column]))),
    ...POSITION_COLUMNS.map((column) => literal(positions.map((row) => row[column]))),
  ];
  await client.query({ ...SAVE_POSITIONS, values });
}
