import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { isCompounding } from '#ledger/chain/chain.sql';
import type { UpdatePoolRequest } from './pools.dto';

/** The settings that a pool's owner may change, with the types of their columns, which are never null. */
const SETTINGS = { autoCompound: 'boolean' } as const satisfies Record<keyof UpdatePoolRequest, string>;
const columnOf = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const forEach = (text: (field: string, column: string) => string): string =>
  Object.keys(SETTINGS)
    .map((field) => text(field, columnOf(field)))
    .join(', ');

/** SQL: the settings of the pool `p`, or of a cancelled one, as fields of its JSON. */
export const settingsOf = (p: string): string => forEach((field, column) => `'${field}', ${p}.${column}`);

const COLUMNS = forEach((_, column) => column);
const WANTED = forEach((field, column) => `coalesce(:${field}, ${column})`);

/**
 * Sets what the owner wants, and says what his wallet has said on the chain. Nothing is written if it is so already.
 * Data is null for anyone else. No row: the pool does not exist.
 */
export const UPDATE_POOL = statement<{ pool: string; caller: string } & UpdatePoolRequest, ReadableRow>(
  'update_pool',
  { pool: 'uuid', caller: 'text', ...SETTINGS },
  `
    WITH changed AS (
      UPDATE pools SET (${COLUMNS}) = ROW(${WANTED}), last_update = now()
      WHERE id = :pool AND ROW(${COLUMNS}) <> ROW(${WANTED})
        AND EXISTS (SELECT FROM pool_members m WHERE m.pool_id = :pool AND m.address = :caller AND m.role = 'OWNER')
    )
    SELECT CASE WHEN m.address IS NOT NULL THEN json_build_object('id', p.id,
      ${forEach((field, column) => `'${field}', coalesce(:${field}, p.${column})`)},
      'compounding', ${isCompounding('p.id', ':caller')})::text END AS data
    FROM pools p LEFT JOIN pool_members m ON m.pool_id = p.id AND m.address = :caller AND m.role = 'OWNER'
    WHERE p.id = :pool`,
  { chargedTo: 'caller' },
);
